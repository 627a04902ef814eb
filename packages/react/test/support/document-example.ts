/** The document example, on a server whose clock a test moves. */
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import type { BrowserContextOptions } from 'playwright-core';
import { type DocumentServer, GROUP, startDocument } from '../../../../examples/document/document-server.ts';
import { Rollcall } from '../../../client/src/index.ts';
import { signProjectToken } from '../../../client/src/server/index.ts';
import { type RunningServer, start } from '../../../server/src/start.ts';
import { type Visit, visit } from '../../../server/test/pages/chromium.ts';
import { MovedClock } from '../../../server/test/support/moved-clock.ts';
import { testSettings } from '../../../server/test/support/server.ts';
import { suiteResource } from '../../../server/test/support/suite-resource.ts';
import { temporaryDirectory } from '../../../server/test/support/temporary-directory.ts';
import { until } from '../../../server/test/support/waiting.ts';

/** The server's clock is ahead of the machine's by half of a token's life: those signed later are not from the future. */
const AHEAD_MS = 300_000;
/** In one step of the clock, which takes about as long: pages have time to answer pings. */
const STEP_MS = 20;
const SWEEP_EVERY_MS = 1_000;

/** High enough to show all sections: in a smaller window a click may scroll the page, and so move the reader twice. */
const WHOLE_PAGE = { width: 1280, height: 1200 };

const EXAMPLE = join(import.meta.dirname, '../../../../examples/document');

/** How a page reaches the server. */
export type Way = 'through a socket' | 'without WebSocket';

export interface Example {
  readonly url: string;
  readonly rollcall: Rollcall;
  readonly rollcallURL: string;
  /** The IDs of the users who are present. */
  present(): Promise<string[]>;
  /** Waits until a user whose page was left is absent. */
  leaves(way: Way, user: string): Promise<void>;
  /** Opens the page as a user, and navigates away at the end: a killed browser would send no absence. */
  open(
    user: string,
    use: (visit: Visit) => Promise<void>,
    options?: BrowserContextOptions & { readonly way?: Way },
  ): Promise<void>;
}

/** Starts it before the tests of the calling file, and stops it after. `root`: the folder of the application. */
export const oneExample = (root?: Promise<string>) =>
  suiteResource<Example>(async (use) => withExample(await root, use));

/** Copies the application to a folder of this directory, where tests edit it. Returns the folder. */
export async function copyApplication(directory: string): Promise<string> {
  const root = join(directory, 'document');
  await mkdir(root);
  for (const name of ['index.html', 'src'])
    await cp(join(EXAMPLE, name), join(root, name), { recursive: true });
  await symlink(join(EXAMPLE, '../../node_modules'), join(directory, 'node_modules'));
  // Vite stores the dependencies that it bundles beside it: the copy's are bundled for other paths.
  await writeFile(join(root, 'package.json'), '{"type": "module"}');
  return root;
}

async function withExample(
  root: string | undefined,
  use: (example: Example) => Promise<void>,
): Promise<void> {
  await using directory = await temporaryDirectory('example');
  const dataDir = directory.path;
  // Only tests move the clock, so no presence expires: every departure was sent, or is of a page that was left.
  const clock = new MovedClock(Date.now() + AHEAD_MS);
  let running: RunningServer | undefined;
  let document: DocumentServer | undefined;
  try {
    const { projectId: projectID = '', projectSecret: secret = '' } = testSettings(dataDir);
    const sign = { projectID: projectID ?? '', secret: secret ?? '' };
    document = await startDocument(
      0,
      async (corsOrigins) => {
        const silent = { clock, log: pino({ level: 'silent' }), announce: () => {} };
        running = await start(testSettings(dataDir, { corsOrigins }), silent);
        return { url: running.url, projectID: sign.projectID, projectSecret: sign.secret };
      },
      root,
    );
    const { url } = running as unknown as RunningServer;
    const rollcall = new Rollcall({ url, token: () => signProjectToken(sign) });
    await use(exampleOf(document.url, url, rollcall, clock));
    await rollcall.close();
  } finally {
    await document?.close();
    await running?.close();
  }
}

function exampleOf(url: string, rollcallURL: string, rollcall: Rollcall, clock: MovedClock): Example {
  const present = async () =>
    (await Array.fromAsync(rollcall.presence.list({ groupID: GROUP }))).map(({ id }) => id);
  const leaves: Example['leaves'] = async (way, user) => {
    await until(`${user} is absent`, async () => {
      const { locations } = (await rollcall.presence.get(user, GROUP)).ephemeral;
      if (locations.length === 0) return true;
      // A page that was left may come back within two seconds of the server's clock. Without a socket, it reports its end.
      if (way === 'through a socket') clock.move(STEP_MS);
      throw new Error(`${user} is still at ${JSON.stringify(locations)}`);
    });
    // Readings leave out what has ended; those who watch get it from the next sweep.
    if (way === 'through a socket') clock.move(SWEEP_EVERY_MS);
  };
  return {
    url,
    rollcall,
    rollcallURL,
    present,
    leaves,
    open: (user, use, { way = 'through a socket', ...options } = {}) =>
      visit('about:blank', { viewport: WHOLE_PAGE, ...options }, async (visited) => {
        const { page } = visited;
        if (way === 'without WebSocket') await page.context().addInitScript('delete globalThis.WebSocket');
        await page.goto(`${url}/?user=${user}`);
        await use(visited);
        if (!page.isClosed()) await page.goto('about:blank');
        await leaves(way, user);
      }),
  };
}
