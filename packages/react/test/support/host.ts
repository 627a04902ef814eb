/** A server with the pages of the tests, and a Rollcall that they use. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { signClientToken } from '../../../client/src/server/index.ts';
import { type Visit, visit } from '../../../server/test/pages/chromium.ts';
import { jwt, seconds } from '../../../server/test/support/jwt.ts';
import { Project } from '../../../server/test/support/project-client.ts';
import { type TestServer, withServer } from '../../../server/test/support/server.ts';
import { suiteResource } from '../../../server/test/support/suite-resource.ts';
import { bundle, REACT_VERSIONS, type ReactVersion } from './bundle.ts';

export interface Host {
  readonly server: TestServer;
  /** The origin of the pages. */
  readonly origin: string;
  /** A new project with these members in the group `g`. */
  project(...members: string[]): Promise<Project>;
  /** The address of a page with a view, for a user of a project. */
  address(
    react: ReactVersion,
    project: Project,
    user: string,
    query: Record<string, string>,
  ): Promise<string>;
  /** Opens a page of a user. */
  open<Result>(
    react: ReactVersion,
    project: Project,
    user: string,
    query: Record<string, string>,
    use: (visit: Visit) => Promise<Result>,
  ): Promise<Result>;
  /** What `main` of the pages has before the script runs, by the view. */
  readonly rendered: Map<string, string>;
}

/** Starts them before the tests of the calling file, and stops them after. */
export const oneHost = (versions: readonly ReactVersion[] = REACT_VERSIONS) =>
  suiteResource<Host>((use) => withHost(versions, use));

/** Waits until the page shows this value. */
export const shows = (page: Page, id: string, value: unknown) =>
  page.waitForFunction(
    `document.getElementById('${id}')?.textContent === ${JSON.stringify(JSON.stringify(value))}`,
  );

async function withHost(
  versions: readonly ReactVersion[],
  use: (host: Host) => Promise<void>,
): Promise<void> {
  const scripts = Object.fromEntries(
    await Promise.all(
      versions.map(async (react) => [react, await bundle('support/page.ts', react, 'browser')]),
    ),
  );
  const rendered = new Map<string, string>();
  const pages = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const [, react = '', file = ''] = pathname.split('/');
    if (file === 'page.js') return response.setHeader('content-type', 'text/javascript').end(scripts[react]);
    const main = rendered.get(`${react} ${searchParams.get('view')}`) ?? '';
    const html = `<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="data:,"><main>${main}</main><script type="module" src="page.js"></script>`;
    return response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  try {
    await withServer({ settings: { corsOrigins: origin } }, async (server) => {
      const projects: Project[] = [];
      const host: Host = {
        server,
        origin,
        rendered,
        async project(...members) {
          const token = jwt(
            { customer_id: server.customerId, iat: seconds(Date.now()) },
            server.customerSecret,
          );
          const project = await Project.create(server.url, token, Date.now());
          projects.push(project);
          const users = members.map((id) => ({ id, name: id.toUpperCase() }));
          await project.seed({ users, groups: [{ id: 'g', name: 'G', members }] });
          return project;
        },
        async address(react, { id, secret }, userID, query) {
          const token = await signClientToken({ projectID: id, secret, userID, groupID: 'g' });
          return `${origin}/${react}/?${new URLSearchParams({ url: server.url, token, ...query })}`;
        },
        async open(react, project, user, query, useVisit) {
          return visit(await host.address(react, project, user, query), {}, useVisit);
        },
      };
      await use(host);
      for (const project of projects) project.close();
    });
  } finally {
    pages.closeAllConnections();
    await new Promise((resolve) => pages.close(resolve));
  }
}
