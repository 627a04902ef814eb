import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { send } from '../support/http-client.ts';
import { LAUNCHER } from '../support/launcher.ts';
import { freePort } from '../support/own-program.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import {
  cleanEnvironment,
  headersOfProject,
  KNOWN,
  requestsTo,
  rollcall,
  rollcallOk,
  withServe,
} from './cli-process.ts';
import { halfSent } from './half-sent.ts';

describe('starts of rollcall serve that fail', () => {
  const rejections: [string, string[], Record<string, string>, RegExp][] = [
    ['a bad value', ['--port', 'http'], {}, /^rollcall: --port: expected a whole number/],
    [
      'a bad variable',
      [],
      { ROLLCALL_LOG_LEVEL: 'loud' },
      /^rollcall: ROLLCALL_LOG_LEVEL: expected one of trace/,
    ],
    [
      'half a pair',
      ['--project-id', 'p'],
      {},
      /^rollcall: ROLLCALL_PROJECT_ID and ROLLCALL_PROJECT_SECRET go together/,
    ],
    [
      'no URL',
      [],
      { ROLLCALL_DATABASE_URL: 'u:hunter2@db/x' },
      /^rollcall: ROLLCALL_DATABASE_URL: expected a URL/,
    ],
  ];
  for (const [what, args, env, line] of rejections) {
    test(`a start with ${what} is one line and exit code 2, and creates nothing`, () =>
      withDataDir(async (dataDir) => {
        const ended = await rollcall(['serve', '--data-dir', dataDir, ...args], { env });
        assert.equal(ended.code, 2);
        assert.match(ended.stderr, line);
        assert.match(ended.stderr, /^[^\n]+\n$/);
        assert.ok(!ended.stderr.includes('hunter2'), ended.stderr);
        assert.equal(ended.stdout, '');
        assert.deepEqual(readdirSync(dataDir), []);
      }));
  }

  test('a start with an unknown flag is exit code 2', async () => {
    const ended = await rollcall(['serve', '--prot', '1']);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /unknown option '--prot'/);
  });

  test('a start on a port that is in use is one line and exit code 1', () =>
    withDataDir(async (dataDir) => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const ended = await rollcall(['serve', '--data-dir', dataDir, '--port', String(port)]);
      other.close();
      assert.equal(ended.code, 1);
      assert.match(ended.stderr, new RegExp(`^rollcall: port ${port} of 127.0.0.1 is in use: [^\\n]+\\n$`));
    }));

  test('a start with a data directory that cannot be created is one line and exit code 1', async () => {
    const ended = await rollcall(['serve', '--port', '0', '--data-dir', '/dev/null/data']);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /^rollcall: the data directory \/dev\/null\/data cannot be used: [^\n]+\n$/);
  });

  const servers: [string, Record<string, string>][] = [
    ['PostgreSQL', { ROLLCALL_DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x' }],
    ['Redis', { ROLLCALL_REDIS_URL: 'redis://u:hunter2@127.0.0.1:1' }],
  ];
  for (const [name, env] of servers) {
    test(`a start with ${name} that does not answer is one line that names it and exit code 1`, () =>
      withDataDir(async (dataDir) => {
        const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir], { env });
        assert.equal(ended.code, 1);
        assert.match(ended.stderr, new RegExp(`^rollcall: ${name} [^\\n]*127\\.0\\.0\\.1:1[^\\n]*\\n$`));
        assert.ok(!ended.stderr.includes('hunter2'), ended.stderr);
      }));
  }

  const stores: [string, (file: string) => void, RegExp][] = [
    ['is none', (file) => writeFileSync(file, 'x'.repeat(10_000)), /not a database/],
    ['a newer version wrote', writeNewerStore, /schema version 999 .* run the newer Rollcall/],
  ];
  for (const [what, write, line] of stores) {
    test(`a start with a store that ${what} is one line and exit code 1, and rollcall doctor reports the same`, () =>
      withDataDir(async (dataDir) => {
        write(join(dataDir, 'rollcall.db'));
        const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir]);
        assert.equal(ended.code, 1);
        assert.match(ended.stderr, line);
        assert.match(ended.stderr, /^rollcall: [^\n]+\n$/);
        const doctor = await rollcall(['doctor', '--data-dir', dataDir], { env: { ROLLCALL_PORT: '1' } });
        assert.equal(doctor.code, 1);
        assert.match(doctor.stdout, /^failed {3}store: /m);
      }));
  }

  test('a start with a data directory that another server has locked is one line and exit code 1, and the other server continues', () =>
    withDataDir((dataDir) =>
      withServe(dataDir, KNOWN, async ({ url }) => {
        const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir]);
        assert.equal(ended.code, 1);
        assert.match(ended.stderr, /^rollcall: another server uses the data directory [^\n]+\n$/);
        assert.equal((await send(url, 'GET', '/healthz')).status, 200);
      }),
    ));
});

describe('a server of rollcall serve', () => {
  test('a server warns once about ROLLCALL_ variables that are not settings', () =>
    withDataDir((dataDir) =>
      withServe(
        dataDir,
        KNOWN,
        async ({ process: server }) => {
          assert.equal(server.stdout.match(/did you mean ROLLCALL_PORT\?/g)?.length, 1);
        },
        { env: { ROLLCALL_PROT: '1' } },
      ),
    ));

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`${signal} waits for a request in flight, and its write is durable`, () =>
      withDataDir(async (dataDir) => {
        await withServe(dataDir, KNOWN, async ({ url, process: server }) => {
          const upload = await halfSent(`${url}/v1/users/ada`, headersOfProject(), '{"name": "Ada"}');
          server.signal(signal);
          await server.output(/"msg":"stopping"/);
          const answer = await upload.finish();
          assert.equal(answer.status, 200, answer.text);
          const ended = await server.ended;
          assert.equal(ended.code, 0);
          assert.equal(ended.stderr, '');
          assert.match(ended.stdout, /"msg":"stopped"/);
        });
        const stored = await rollcallOk(['backup', '--quiet', '--data-dir', dataDir]);
        assert.match(stored, /"type":"user",.*"id":"ada",.*"name":"Ada"/);
      }));
  }

  test('a signal that npm and the launcher repeat at once counts as one signal', () =>
    withDataDir((dataDir) =>
      withServe(dataDir, KNOWN, async ({ url, process: server }) => {
        const upload = await halfSent(`${url}/v1/users/ada`, headersOfProject(), '{"name": "Ada"}');
        server.signal('SIGINT');
        server.signal('SIGTERM');
        await server.output(/"msg":"stopping"/);
        assert.equal((await upload.finish()).status, 200);
        assert.equal((await server.ended).code, 0);
      }),
    ));

  test('a second signal ends the server at once, whatever is in flight', () =>
    withDataDir((dataDir) =>
      withServe(dataDir, KNOWN, async ({ url, process: server }) => {
        const upload = await halfSent(`${url}/v1/users/ada`, headersOfProject(), '{"name": "Ada"}');
        const signalling = setInterval(() => server.signal('SIGTERM'), 20);
        const ended = await server.ended;
        clearInterval(signalling);
        assert.equal(ended.code, 1);
        assert.match(ended.stdout, /"msg":"stopping at once"/);
        await assert.rejects(upload.finish());
      }),
    ));

  test('a server killed with SIGKILL starts again on its data directory with every acknowledged write', () =>
    withDataDir(async (dataDir) => {
      await withServe(dataDir, KNOWN, async ({ url, process: server }) => {
        const answer = await send(url, 'PUT', '/v1/users/ada', {
          headers: headersOfProject(),
          body: '{"name": "Ada"}',
        });
        assert.equal(answer.status, 200, answer.text);
        server.signal('SIGKILL');
        assert.equal((await server.ended).signal, 'SIGKILL');
      });
      await withServe(dataDir, KNOWN, async ({ url }) => {
        const answer = await requestsTo(url)('GET', '/v1/users/ada');
        assert.equal(answer.json<{ name: string }>().name, 'Ada');
      });
    }));

  test('a server logs no secret and no token at any level', () =>
    withDataDir((dataDir) =>
      withServe(dataDir, [...KNOWN, '--log-level', 'trace'], async ({ url, process: server }) => {
        const headers = headersOfProject();
        await send(url, 'GET', '/v1/users', { headers });
        await send(url, 'GET', '/v1/users', { headers: { authorization: `${headers.authorization}x` } });
        server.signal('SIGTERM');
        const { stdout, stderr } = await server.ended;
        const [, , signature = 'none'] = headers.authorization.split('.');
        for (const hidden of [...KNOWN.filter((word) => word.startsWith('the secret')), signature]) {
          assert.ok(!`${stdout}${stderr}`.includes(hidden), `${hidden} is in the log`);
        }
      }),
    ));
});

const noCurl = spawnSync('curl', ['--version']).error === undefined ? false : 'this machine has no curl';

describe('a first start', () => {
  test('a first start prints one customer and one project, once, and logs none of their secrets', () =>
    withDataDir(async (dataDir) => {
      const first = await withServe(dataDir, ['--log-level', 'trace'], async ({ process: server }) => {
        server.signal('SIGTERM');
        return (await server.ended).stdout;
      });
      for (const line of [
        /customer ID +cus_\S+\n/g,
        /customer secret +\S+\n/g,
        /project ID +prj_\S+\n/g,
        /project secret +\S+\n/g,
      ]) {
        assert.equal(first.match(line)?.length, 1, `${line}`);
      }
      const secrets = [...first.matchAll(/secret +(\S+)/g)].map(([, secret = '']) => secret);
      const log = first.split('\n').filter((line) => line.startsWith('{'));
      assert.equal(secrets.length, 2);
      assert.ok(log.length > 0);
      for (const secret of secrets) assert.ok(!log.join('\n').includes(secret), 'a secret is in the log');
      const second = await withServe(dataDir, [], async ({ process: server }) => {
        server.signal('SIGTERM');
        return (await server.ended).stdout;
      });
      for (const line of second.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line);
    }));

  test('a first start prints lines that work as pasted into a shell', { skip: noCurl }, () =>
    withDataDir((dataDir) =>
      withServe(dataDir, [], async ({ process: server, url }) => {
        const [, page = ''] = await server.output(/in a browser: (.*)/);
        assert.equal(page, `${url}/docs`);
        const [pasted] = await server.output(/^TOKEN=.*\n(?:curl .*\n)+/m);
        const answers = execFileSync('sh', ['-eu', '-c', pasted], { encoding: 'utf8' }).trim().split('\n');
        assert.deepEqual(
          answers.map((answer) => JSON.parse(answer)),
          [
            { success: true, message: 'created user ada' },
            { success: true, message: 'created group analysts' },
            {
              id: 'analysts',
              name: 'Analysts',
              status: 'active',
              members: ['ada'],
              connectedToMessenger: false,
              metadata: {},
            },
          ],
        );
      }),
    ),
  );
});

test('a server whose log cannot be written, as on a full disk, answers and stops like any other', () =>
  withDataDir(async (dataDir) => {
    const port = await freePort();
    const full = openSync('/dev/full', 'w');
    const serve = [LAUNCHER, 'serve', '--port', `${port}`, '--data-dir', dataDir, ...KNOWN];
    const env = { ...process.env, ROLLCALL_LOG_LEVEL: 'debug' };
    const server = spawn(process.execPath, serve, { stdio: ['ignore', full, 'inherit'], env });
    const ended = once(server, 'exit');
    closeSync(full);
    const isAlive = () =>
      send(`http://127.0.0.1:${port}`, 'GET', '/healthz').then(
        ({ status }) => status === 200,
        () => false,
      );
    try {
      await until('the server to answer', isAlive);
      for (let count = 0; count < 50; count += 1) assert.ok(await isAlive());
      server.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
    } finally {
      server.kill('SIGKILL');
    }
  }));

test('a first start that cannot print its credentials is exit code 1, and leaves them to the next start', () =>
  withDataDir(async (dataDir) => {
    const serve = [LAUNCHER, 'serve', '--port', '0', '--data-dir', dataDir];
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, serve, {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
      env: cleanEnvironment(),
    });
    closeSync(full);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^rollcall: the credentials of a first start cannot be printed, so none [^\n]+\n$/);
    const { stdout } = await rollcall(['customer', 'list', '--json', '--data-dir', dataDir]);
    assert.deepEqual(JSON.parse(stdout), []);
  }));

function writeNewerStore(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA user_version = 999');
  database.close();
}
