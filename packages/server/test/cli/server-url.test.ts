import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import { rollcall } from './cli-process.ts';

const server = oneServer();
/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:1';

type Variables = Record<string, string>;

/** Environments that describe the running server, and nothing else about it. */
function descriptions({ url, token }: Project): Variables[] {
  const ROLLCALL_TOKEN = token;
  const { port: ROLLCALL_PORT } = new URL(url);
  return [
    { ROLLCALL_TOKEN, ROLLCALL_PORT },
    { ROLLCALL_TOKEN, ROLLCALL_PORT, ROLLCALL_HOST: '0.0.0.0' },
    { ROLLCALL_TOKEN, ROLLCALL_PORT, ROLLCALL_HOST: 'localhost', ROLLCALL_URL: '' },
    { ROLLCALL_TOKEN, ROLLCALL_PORT: '1', ROLLCALL_URL: `${url}/` },
  ];
}

/** Runs a command with a new data directory, and `sync` with a file in it. */
const run = (args: readonly string[], env: Variables) =>
  withDataDir(async (directory) => {
    const file = join(directory, 'roster.jsonl');
    await writeFile(file, '{"type":"user","id":"ada"}\n');
    const dataDir = join(directory, 'data');
    return rollcall(args[0] === 'sync' ? [...args, file] : args, {
      env: { ROLLCALL_DATA_DIR: dataDir, ...env },
    });
  });

const serverChecks = (stdout: string) =>
  (JSON.parse(stdout) as { name: string; outcome: string; found: string }[]).filter(({ name }) =>
    name.startsWith('server'),
  );

describe('the server that a command sends requests to', () => {
  for (const name of ['sync', 'export']) {
    const command = [name];

    test(`${name} sends requests to ROLLCALL_URL, else to ROLLCALL_HOST and ROLLCALL_PORT`, async () => {
      for (const env of descriptions(await server.project())) {
        const { code, stderr } = await run([...command, '--quiet'], env);
        assert.equal(code, 0, `${JSON.stringify(env)}: ${stderr}`);
      }
    });

    test(`${name} prefers --url to ROLLCALL_URL and to ROLLCALL_HOST`, async () => {
      const { url, token } = await server.project();
      const env = { ROLLCALL_TOKEN: token, ROLLCALL_PORT: '1', ROLLCALL_URL: NOWHERE };
      const { code, stderr } = await run([...command, '--quiet', '--url', url], env);
      assert.equal(code, 0, stderr);
    });

    test(`${name} with ROLLCALL_PORT 0 or a bad URL is exit code 2 and names the variable`, async () => {
      for (const [env, expected] of [
        [{ ROLLCALL_PORT: '0' }, /ROLLCALL_PORT is 0: .*--url or ROLLCALL_URL/],
        [{ ROLLCALL_PORT: 'x' }, /ROLLCALL_PORT: expected a whole number/],
        [{ ROLLCALL_URL: 'localhost:8080' }, /ROLLCALL_URL: expected a URL/],
        [{ ROLLCALL_URL: 'http://localhost:99999' }, /ROLLCALL_URL: expected a URL/],
      ] as const) {
        const { code, stderr } = await run(command, { ...env, ROLLCALL_TOKEN: 't' });
        assert.equal(code, 2, stderr);
        assert.match(stderr, expected);
      }
    });

    test(`${name} ignores bad values of other settings`, async () => {
      const [env = {}] = descriptions(await server.project());
      const { code, stderr } = await run([...command, '--quiet'], {
        ...env,
        ROLLCALL_PRESENCE_TTL_SECONDS: 'x',
      });
      assert.equal(code, 0, stderr);
    });
  }

  test('doctor reads --url, ROLLCALL_URL, ROLLCALL_HOST and ROLLCALL_PORT in the same order', async () => {
    for (const env of descriptions(await server.project())) {
      const checks = serverChecks((await run(['doctor', '--json'], env)).stdout);
      assert.deepEqual(
        checks.map(({ name, outcome }) => `${name}: ${outcome}`),
        ['server alive: ok', 'server ready: ok', 'server clock: ok'],
        JSON.stringify(env),
      );
    }
  });

  test('doctor requires a server that ROLLCALL_URL names, and no other server', async () => {
    const named = await run(['doctor', '--json'], { ROLLCALL_URL: NOWHERE });
    assert.equal(named.code, 1);
    assert.equal(serverChecks(named.stdout)[0]?.outcome, 'failed');
    for (const ROLLCALL_PORT of ['0', '1']) {
      const { code, stdout } = await run(['doctor', '--json'], { ROLLCALL_PORT });
      assert.equal(code, 0);
      assert.equal(serverChecks(stdout)[0]?.outcome, 'skipped');
    }
  });
});
