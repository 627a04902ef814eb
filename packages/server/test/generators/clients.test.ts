import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import { directoryOfFile } from '../support/temporary-directory.ts';
import { runScript, skipsGenerators, TOOLS } from './tools.ts';

const CALLS = join(TOOLS, 'calls');
/** One file of calls for each generator. */
const CLIENTS = readdirSync(CALLS)
  .filter((name) => name.endsWith('.ts') && name !== 'scenario.ts')
  .map((name) => name.replace('.ts', ''));

/** What the calls of `generators/calls/scenario.ts` return. */
const EXPECTED = {
  created: [201, 'created user team/ada'],
  again: [409, 'user_already_exists'],
  batch: [200, 2],
  present: [200, true],
  found: ['team/ada'],
  pages: [['grace', 'linus'], ['team/ada'], null],
  missing: [404, 'thread_not_found', 'thread launch does not exist'],
  message: [201, '81'],
  read: 'In June',
  thread: 1,
  renamed: [200, 'updated user team/ada'],
  stale: [412, 'invalid_request'],
  user: ['Ada Lovelace', { plan: 'pro', seats: [1] }],
  deleted: [200, 'deleted user linus'],
  projects: 200,
  rotated: 200,
};

describe('clients that generators make from the description of a running server', {
  skip: skipsGenerators,
}, () => {
  const server = oneServer();
  const directory = directoryOfFile('generators');

  /** Generates all clients, and compiles them with the calls. Types are checked strictly: see calls/tsconfig.json. */
  before(async () => {
    const { url, request } = await server.started;
    const description = join(directory, 'openapi.json');
    await writeFile(description, (await request('GET', '/openapi.json')).text);
    await cp(CALLS, directory, { recursive: true });
    await symlink(join(TOOLS, 'node_modules'), join(directory, 'node_modules'));
    await runScript(join(TOOLS, 'generate.mjs'), [description, join(directory, 'generated'), url]);
    await runScript(join(TOOLS, 'node_modules/typescript/bin/tsc'), ['-p', directory]);
  });

  for (const name of CLIENTS) {
    test(`the client of ${name} has the types of the API, sends what the server takes, and reads its answers and errors`, async () => {
      const { url, token } = await server.project();
      const env = { ROLLCALL_URL: url, TOKEN: token, CUSTOMER_TOKEN: server.customerToken() };
      const printed = await runScript(join(directory, 'compiled', `${name}.js`), [], { env });
      assert.deepEqual(JSON.parse(printed), EXPECTED);
    });
  }

  test('there are clients of four generators', () => {
    assert.deepEqual(CLIENTS.sort(), ['hey-api', 'openapi-typescript', 'orval', 'swagger-typescript-api']);
  });
});
