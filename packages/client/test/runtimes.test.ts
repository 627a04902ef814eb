/** The packed client in backends of each kind. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fencesOf } from '../../server/test/docs/markdown.ts';
import { runModule } from '../../server/test/packages/run-module.ts';
import { installPackages } from '../../server/test/support/packed.ts';
import { type TestServer, withServer } from '../../server/test/support/server.ts';
import { directoryOfFile } from '../../server/test/support/temporary-directory.ts';
import { within } from '../../server/test/support/waiting.ts';
import { BUN, RUNTIMES } from './support/runtimes.ts';

/** Nothing keeps the process alive for so long. */
const ENDS_WITHIN_MS = 20_000;

/** The directory of a project in which the packed client is installed. */
const project = directoryOfFile('runtimes');

before(() => installPackages(project, ['client']));

async function write(file: string, code: string): Promise<void> {
  await mkdir(dirname(join(project, file)), { recursive: true });
  await writeFile(join(project, file), code);
}

/** Runs a file of the project to its end. Returns the JSON that it prints. */
async function run(program: string, file: string, { url, projectId, projectSecret }: TestServer) {
  const env = {
    ROLLCALL_URL: url,
    ROLLCALL_PROJECT_ID: projectId,
    ROLLCALL_PROJECT_SECRET: projectSecret,
  };
  const running = runModule(program, [file], project, env);
  const { stdout, stderr } = await within(ENDS_WITHIN_MS, running, 'the end of the process');
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

/** Its process ends by itself after close(). */
const BACKEND = `
import { NOBODY, presenceAfter, Rollcall, RollcallClient, RollcallError } from '@rollcall/client';
import { signClientToken, signProjectToken } from '@rollcall/client/server';
const { ROLLCALL_URL: url, ROLLCALL_PROJECT_ID: projectID, ROLLCALL_PROJECT_SECRET: secret } = process.env;
const rollcall = new Rollcall({ url, token: () => signProjectToken({ projectID, secret }) });
await rollcall.batch({ users: [{ id: 'ada' }], groups: [{ id: 'g', name: 'G', members: ['ada'] }] });
const ids = [];
for await (const { id } of rollcall.groups.members('g')) ids.push(id);
const code = await rollcall.groups.get('nowhere').catch((error) => error instanceof RollcallError && error.code);
const token = () => signClientToken({ projectID, secret, userID: 'ada', groupID: 'g' });
const client = new RollcallClient({ url, token });
const announcement = client.presence.announce({ location: { page: 'a' } });
let state = NOBODY;
const watch = rollcall.presence.watch({ groupID: 'g' });
for await (const event of watch) {
  state = presenceAfter(state, event);
  if (state.get('ada')?.ephemeral.locations.length === 1) break;
}
const metrics = await (await fetch(url + '/metrics')).text();
const sockets = Number(/^rollcall_sockets (.*)$/m.exec(metrics)[1]);
announcement.move({ page: 'b' });
const open = rollcall.presence.watch({ groupID: 'g' });
await open.next();
const createThread = { name: 'T' };
const content = [{ type: 'markdown', children: [{ text: 'a' }] }];
const { id } = await client.threads.messages('t').create({ content, createThread });
const ofHost = rollcall.threads.messages('t').watch();
const ofPage = client.threads.messages('t').watch();
for (const following of [ofHost, ofPage]) await following.next();
await rollcall.threads.messages('t').append(id, { text: 'b' });
const appended = [(await ofHost.next()).value.text, (await ofPage.next()).value.text];
await client.close();
await rollcall.close();
console.log(JSON.stringify({ ids, code, sockets, appended, ended: await announcement.ended }));
`;

describe('the package in a backend', () => {
  for (const { name, program, hasWebSocket, skip } of RUNTIMES) {
    test(`${name}: signs tokens, reads, writes and follows streams, and ends after close()`, {
      skip,
    }, async () => {
      await write('backend.js', BACKEND);
      await withServer({}, async (server) => {
        assert.deepEqual(await run(program, 'backend.js', server), {
          ids: ['ada'],
          code: 'group_not_found',
          sockets: hasWebSocket ? 1 : 0,
          appended: ['b', 'b'],
          ended: null,
        });
      });
    });
  }
});

/** Calls the route as a page does, with a user and without one. */
const BUN_SERVER = `
import { GET } from './app/rollcall-token/route.js';
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: GET });
const rejected = await fetch(server.url);
const accepted = await fetch(server.url, { headers: { cookie: 'user=ada' } });
const token = await accepted.text();
await server.stop();
console.log(JSON.stringify({ rejected: rejected.status, token }));
`;

test('Bun.serve answers with the route of docs/pages.md, and the server accepts the token that it signs', {
  skip: BUN.skip,
}, async () => {
  const [{ code = '' } = {}] = fencesOf('docs/pages.md').filter((fence) => fence.code.includes('GET('));
  await write('app/rollcall-token/route.js', code);
  await write(
    'session.js',
    `export const userOf = async ({ headers }) => {
      const id = headers.get('cookie')?.slice(5);
      return id === undefined ? null : { id, name: id };
    };`,
  );
  await write('bun-server.js', BUN_SERVER);
  await withServer({}, async (server) => {
    await server.request('POST', '/v1/batch', { body: { users: [{ id: 'ada' }] } });
    const { rejected, token } = await run(BUN.program, 'bun-server.js', server);
    assert.equal(rejected, 401);
    const { status, body } = await server.request('GET', '/v1/client/viewer', { token });
    assert.equal(status, 200);
    assert.equal((body as { user: { id: string } }).user.id, 'ada');
  });
});
