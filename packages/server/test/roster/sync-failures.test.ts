import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KNOWN, PROJECT, requestsTo, withServe } from '../cli/cli-process.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { oneServer } from '../support/one-server.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { counts, flagsOf, jsonLines, runCli, startCli, syncText } from './roster-cli.ts';

const server = oneServer();
const ada = jsonLines([{ type: 'user', id: 'ada' }]);

test('sync names the line before which all is applied when the server is killed, and a second run completes it', async () => {
  const users = jsonLines(
    Array.from({ length: 25_000 }, (_, index) => ({ type: 'user', id: `u${index + 1}` })),
  );
  const flags = ['--json', '--project-id', PROJECT.id, '--project-secret', PROJECT.secret];
  await withDataDir(async (dataDir) => {
    const applied = await withServe(dataDir, KNOWN, async ({ url, process: serving }) => {
      const sync = startCli(['sync', '-', '--url', url, '--concurrency', '1', ...flags]);
      sync.stdin.write(users);
      // One request at a time: where the second has arrived, the first is applied.
      await untilUserExists(url, 'u10001');
      serving.signal('SIGKILL');
      await serving.ended;
      sync.stdin.end();
      const { code, stdout, stderr } = await sync.ended;
      assert.equal(code, 1);
      assert.equal(JSON.parse(stdout.toString()).complete, false);
      assert.match(stderr, /no answer from .*; trying again in 0\.5 s\n/);
      assert.match(stderr, /stopped: no answer from .*safe to run the same command again/);
      const [, line] = /lines from standard input:(\d+) on may or may not be applied/.exec(stderr) ?? [];
      return Number(line) - 1;
    });
    assert.ok(applied === 10_000 || applied === 20_000, String(applied));
    await withServe(dataDir, [], async ({ url }) => {
      const again = await runCli(['sync', '-', '--url', url, ...flags], { input: users });
      const { users: done } = JSON.parse(again.stdout.toString());
      assert.equal(again.code, 0);
      assert.equal(done.created + done.unchanged, 25_000);
      assert.ok(done.unchanged >= applied, 'lines that were reported as applied are missing');
    });
  });
});

async function untilUserExists(url: string, id: string): Promise<void> {
  const request = requestsTo(url);
  await until(`user ${id}`, async () => (await request('GET', `/v1/users/${id}`)).status === 200);
}

test('a line that is nested deeper than a body may be is rejected with its number, and the others are applied', async () => {
  const project = await server.project();
  const nested = `${'['.repeat(16_398)}${']'.repeat(16_398)}`;
  const text = `{"type":"user","id":"u","metadata":{"n":${nested}}}\n${ada}`;
  const { code, rejections, json } = await syncText(project, text);
  assert.deepEqual([code, json.users, json.refused], [1, counts(1), 1]);
  assert.deepEqual(rejections, ['standard input:1: rejected: the line is nested too deeply']);
});

describe('a rejected token', () => {
  for (const command of [['sync', '-'], ['export']]) {
    test(`a rejected token stops ${command[0]} at once, with the reason and the server that rejects it`, async () => {
      const token = jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, 'of another project');
      const { url } = server.running;
      const { code, stderr } = await runCli([...command, '--url', url, '--token', token], { input: ada });
      assert.equal(code, 1);
      assert.match(stderr, /the server rejects the token: project_not_found: /);
      assert.ok(stderr.includes(`is ${url} the right server (--url)`), stderr);
      assert.doesNotMatch(stderr, /trying again/);
    });
  }
});

describe('the credentials of sync and export', () => {
  const sync = ['sync', '-', '--json'];

  test('credentials are read from the store of the data directory while its server runs', async () => {
    await withDataDir((dataDir) =>
      withServe(dataDir, KNOWN, async ({ url }) => {
        const { code, stderr } = await runCli([...sync, '--url', url, '--data-dir', dataDir], { input: ada });
        assert.equal(code, 0, stderr);
        const exported = await runCli(['export', '--url', url], { env: { ROLLCALL_DATA_DIR: dataDir } });
        assert.equal(exported.stdout.toString(), ada);
      }),
    );
  });

  test('credentials are read from the environment: a token, or a project with its secret', async () => {
    const { url, id, secret, token } = await server.project();
    const project = { ROLLCALL_PROJECT_ID: id, ROLLCALL_PROJECT_SECRET: secret };
    for (const env of [{ ROLLCALL_TOKEN: token }, project, { ...project, ROLLCALL_TOKEN: '' }]) {
      const { code, stderr } = await runCli([...sync, '--url', url], { input: ada, env });
      assert.equal(code, 0, stderr);
    }
  });

  test('credentials of the command line win over the environment', async () => {
    const mine = await server.project();
    const other = await server.project();
    const env = { ROLLCALL_TOKEN: other.token };
    const flags = ['--url', mine.url, '--project-id', mine.id, '--project-secret', mine.secret];
    for (const named of [flags, flagsOf(mine)]) {
      assert.equal((await runCli([...sync, ...named], { input: ada, env })).code, 0);
    }
    assert.deepEqual(await mine.userIds(), ['ada']);
    assert.deepEqual(await other.userIds(), []);
  });

  test('ROLLCALL_PROJECT_ID selects the project of a store, also of --data-dir; --project-id wins', async () => {
    await withDataDir((dataDir) =>
      withServe(dataDir, KNOWN, async ({ url }) => {
        const other = ['project', 'create', 'Other', '--id', 'other', '--data-dir', dataDir];
        assert.equal((await runCli(other)).code, 0);
        const exported = async (id: string, ...flags: string[]) => {
          const env = { ROLLCALL_PROJECT_ID: id, ROLLCALL_TOKEN: 'not.used.here' };
          return runCli(['export', '--quiet', '--url', url, '--data-dir', dataDir, ...flags], { env });
        };
        const env = { ROLLCALL_PROJECT_ID: 'other', ROLLCALL_DATA_DIR: dataDir };
        assert.equal((await runCli([...sync, '--url', url], { input: ada, env })).code, 0);
        assert.equal((await exported('other')).stdout.toString(), ada);
        assert.equal((await exported(PROJECT.id)).stdout.toString(), '');
        assert.equal((await exported(PROJECT.id, '--project-id', 'other')).stdout.toString(), ada);
        assert.match((await exported('')).stderr, /there are 2 projects/);
        const { code, stderr } = await exported('none');
        assert.deepEqual([code, stderr], [1, 'rollcall: there is no project none\n']);
      }),
    );
  });

  for (const [variable, value] of [
    ['ROLLCALL_TOKEN', 'a secret token'],
    ['ROLLCALL_PROJECT_ID', 'a\nproject'],
  ] as const)
    test(`a wrong ${variable} is bad usage, with one line that names it and not its value`, async () => {
      for (const command of [['export'], ['changes'], sync]) {
        const env = { [variable]: value, ROLLCALL_PROJECT_SECRET: 'of sixteen letters' };
        const { code, stderr } = await runCli([...command, '--url', 'http://127.0.0.1:1'], { env });
        assert.equal(code, 2, stderr);
        assert.match(stderr, new RegExp(`^rollcall: ${variable}: expected [^\n]+\n$`));
        assert.ok(variable !== 'ROLLCALL_TOKEN' || !stderr.includes(value), stderr);
      }
    });

  test('missing credentials are exit code 1 and one line that names where they can come from', async () => {
    await withDataDir(async (directory) => {
      const { stdin, ended } = startCli(sync, {}, directory);
      stdin.end(ada);
      const { code, stderr } = await ended;
      assert.equal(code, 1);
      assert.match(stderr, /there is no store in .*--data-dir/);
    });
  });
});

describe('bad usage of sync and export', () => {
  const cases: [what: string, args: string[]][] = [
    ['no file', ['sync']],
    ['a URL that is none', ['sync', '-', '--url', 'localhost:8080']],
    ['no concurrency', ['sync', '-', '--concurrency', '0']],
    ['a token that is none', ['export', '--token', 'a b']],
    ['a secret without its project', ['export', '--project-secret', 'of sixteen letters']],
    ['an unknown option', ['export', '--fast']],
  ];
  for (const [what, args] of cases) {
    test(`${what} is bad usage, with exit code 2`, async () => assert.equal((await runCli(args)).code, 2));
  }
});

for (const [what, input, flags] of [
  ['a user', ada, []],
  ['a thread in a dry run', '{"type":"thread","id":"t","groupID":"g","name":"T"}\n', ['--dry-run']],
] as const)
  test(`a server that is not Rollcall is reported as such by sync of ${what}`, async () => {
    const project = await server.project();
    const url = `${project.url}/elsewhere`;
    const { code, stderr, stdout } = await runCli(
      ['sync', '-', '--json', '--url', url, '--token', project.token, ...flags],
      { input },
    );
    assert.equal(code, 1);
    assert.match(stderr, /stopped: the server answers 404 invalid_request: /);
    assert.deepEqual(JSON.parse(stdout.toString()).users, counts(0));
  });
