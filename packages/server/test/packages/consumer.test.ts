/** All three packages in the project of a host: their types under strict settings, and a page that a server renders. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { before, describe, test } from 'node:test';
import { installPackages } from '../support/packed.ts';
import { directoryOfFile } from '../support/temporary-directory.ts';
import { runModule } from './run-module.ts';
import { typeProblems } from './type-problems.ts';

const project = directoryOfFile('consumer');

before(async () => {
  const others = ['react', 'react-dom', '@types/react', '@types/react-dom', '@types/node'];
  await installPackages(project, ['server', 'client', 'react'], others);
});

/** Without JSX, so that it runs as it is. The lines after `@ts-expect-error` must not compile. */
const PROGRAM = `
import { Rollcall, RollcallClient, type PresenceEntry } from '@rollcall/client';
import { signClientToken } from '@rollcall/client/server';
import { Facepile, type PresentUser, RollcallProvider, useOthers, type UseThread } from '@rollcall/react';
import { type Rollcall as Server, startRollcall, type StartRollcallOptions } from '@rollcall/server';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';

const options: StartRollcallOptions = { environment: { ROLLCALL_PRESENCE_TTL_SECONDS: '60' } };
const server: Server = await startRollcall(options);
const host = new Rollcall({ url: server.url, token: () => server.projectToken() });
await host.batch({ users: [{ id: 'ada', name: 'Ada' }], groups: [{ id: 'docs', name: 'D', members: ['ada'] }] });
await host.presence.put('ada', { groupID: 'docs', location: { page: 'intro' } });
const present: PresenceEntry[] = await host.presence.list({ groupID: 'docs' }).toArray();
const { projectID, projectSecret: secret } = server;
const client = new RollcallClient({
  url: server.url,
  token: () => signClientToken({ projectID, secret, userID: 'ada', groupID: 'docs' }),
});
const { user } = await client.viewer();
function Names() {
  const others: readonly PresentUser[] = useOthers({ location: { page: 'intro' } });
  return createElement('p', null, others.length);
}
const page = [createElement(Names, { key: 1 }), createElement(Facepile, { key: 2, location: { page: 'intro' } })];
const html = renderToString(createElement(RollcallProvider, { client, groupID: 'docs' }, page));
await client.close();
await host.close();
await server.close();
console.log(JSON.stringify({ present, name: user.name, html }));

export const comment = ({ send }: UseThread, name?: string): string =>
  send('Hello', { createThread: name === undefined ? undefined : { name } });

export function wrong(): void {
  // @ts-expect-error an unknown option
  startRollcall({ prot: 1 });
  // @ts-expect-error time goes one way, by a number
  server.advance('1');
  // @ts-expect-error a location has text
  useOthers({ location: { page: 1 } });
}
`;

const SETTINGS = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
].map((resolution) => ({
  ...resolution,
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ...{ target: 'es2022', lib: ['es2022', 'dom'], types: ['node'] },
  outDir: resolution.moduleResolution,
}));

describe('a project that installs all packages', () => {
  let problems: readonly string[];

  before(async () => {
    await writeFile(join(project, 'program.ts'), PROGRAM);
    problems = await typeProblems(project, 'program.ts', SETTINGS);
  });

  for (const [index, { moduleResolution: name }] of SETTINGS.entries()) {
    test(`the types of all packages compile under strict settings with the resolution ${name}`, () =>
      assert.equal(problems[index], ''));

    test(`what the resolution ${name} compiled runs: a server, both clients, and a rendered page`, async () => {
      const { stdout, stderr } = await runModule(process.execPath, [`${name}/program.js`], project);
      assert.equal(stderr, '');
      assert.deepEqual(JSON.parse(stdout), {
        present: [{ id: 'ada', ephemeral: { locations: [{ page: 'intro' }] } }],
        name: 'Ada',
        html: '<p>0</p>',
      });
    });
  }
});
