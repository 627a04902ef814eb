/** Files of the embedded store that are removed, replaced or damaged under a running server, or before a start. */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { CUSTOMER, KNOWN, PROJECT, rollcall, type ServeProcess, withServe } from '../cli/cli-process.ts';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { withDataDir } from '../support/server.ts';

const PAGE_BYTES = 4_096;
const ASK_EVERY_MS = 50;
const WRITERS = 8;
const noProc = existsSync('/proc/self/fd') ? false : 'this system has no /proc';

type Request = (method: string, path: string, body?: unknown) => Promise<Answer>;

function requestsTo(url: string): Request {
  const token = jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, PROJECT.secret);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return (method, path, body) =>
    send(url, method, path, { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

interface Served extends ServeProcess {
  readonly request: Request;
  readonly pid: number;
}

/** A server with a user whose write was acknowledged and is in the log alone. */
const withUser = (dataDir: string, use: (server: Served) => Promise<void>) =>
  withServe(dataDir, KNOWN, async (server) => {
    const request = requestsTo(server.url);
    assert.equal((await request('PUT', '/v1/users/ada', { name: 'Ada' })).status, 200);
    const [, pid] = await server.process.output(/"pid":(\d+)/);
    await use({ ...server, request, pid: Number(pid) });
  });

async function readyStatus(request: Request, status: number): Promise<void> {
  while ((await request('GET', '/readyz')).status !== status) await setTimeout(ASK_EVERY_MS);
}

/** The one fatal line of the log. */
function fatalLine(stdout: string): string {
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"level":60'));
  assert.equal(lines.length, 1, stdout);
  return JSON.parse(lines[0] as string).msg;
}

async function expectUnwritable({ request, process: server }: Served, line: RegExp): Promise<void> {
  const write = await request('PUT', '/v1/users/bob', { name: 'Bob' });
  assert.deepEqual([write.status, write.json<{ error: string }>().error], [503, 'error']);
  assert.match(String(write.headers['retry-after']), /^\d+$/);
  assert.equal((await request('GET', '/readyz')).status, 503);
  assert.equal((await request('GET', '/healthz')).status, 200);
  assert.match(fatalLine(server.stdout), line);
}

async function stop({ process: server }: ServeProcess): Promise<void> {
  server.signal('SIGTERM');
  const { code, stderr } = await server.ended;
  assert.deepEqual([code, stderr], [0, '']);
}

const named = (dataDir: string) => (suffix: string) => join(dataDir, `rollcall.db${suffix}`);

describe('files that are removed or replaced under a running server', () => {
  const changes: [string, (dataDir: string) => void, RegExp][] = [
    [
      'the directory is removed',
      (dataDir) => rmSync(dataDir, { recursive: true }),
      /\(rollcall\.db, rollcall/,
    ],
    [
      'the directory is replaced by an empty one',
      (dataDir) => {
        rmSync(dataDir, { recursive: true });
        mkdirSync(dataDir);
      },
      /\(rollcall\.db, rollcall/,
    ],
    [
      'the database is replaced by a copy of itself',
      (dataDir) => {
        const file = join(dataDir, 'rollcall.db');
        copyFileSync(file, `${file}.copy`);
        renameSync(`${file}.copy`, file);
      },
      /\(rollcall\.db\)/,
    ],
    ['the log is removed', (dataDir) => rmSync(named(dataDir)('-wal')), /\(rollcall\.db-wal\)/],
    ['the index of the log is removed', (dataDir) => rmSync(named(dataDir)('-shm')), /\(rollcall\.db-shm\)/],
  ];
  for (const [title, change, line] of changes) {
    test(`${title}: no write is acknowledged, the server is not ready, and reads go on`, () =>
      withDataDir(undefined, (parent) => {
        const dataDir = join(parent, 'data');
        return withUser(dataDir, async (server) => {
          change(dataDir);
          await expectUnwritable(server, line);
          assert.equal((await server.request('GET', '/v1/users/ada')).json<{ name: string }>().name, 'Ada');
          // What was not acknowledged is not there either.
          assert.equal((await server.request('GET', '/v1/users/bob')).status, 401);
          await stop(server);
        });
      }));
  }

  test('without a write, the server is not ready any more', () =>
    withDataDir(undefined, (parent) => {
      const dataDir = join(parent, 'data');
      return withUser(dataDir, async ({ request, process: server }) => {
        rmSync(dataDir, { recursive: true });
        await readyStatus(request, 503);
        assert.match(fatalLine(server.stdout), /removed or replaced/);
      });
    }));

  test('under load, everything that was acknowledged is in the files that were open at that time', () =>
    withDataDir(undefined, (parent) => {
      const dataDir = join(parent, 'data');
      const moved = join(parent, 'moved');
      let acknowledged = 0;
      return withUser(dataDir, async ({ request, process: server }) => {
        const writers = Array.from({ length: WRITERS }, async (_, writer) => {
          for (let index = 0; ; index += 1) {
            const { status } = await request('PUT', `/v1/users/u${writer}-${index}`, { name: 'U' });
            if (status !== 200) return assert.equal(status, 503);
            acknowledged += 1;
            if (acknowledged === 200) renameSync(dataDir, moved);
          }
        });
        await Promise.all(writers);
        server.signal('SIGKILL');
        await server.ended;
        await withServe(moved, KNOWN, async ({ url }) => {
          const page = await requestsTo(url)('GET', '/v1/users?limit=1');
          const { total } = page.json<{ pagination: { total: number } }>().pagination;
          // Ada, all who were acknowledged, and at most one more of each writer, which was answered 503.
          assert.ok(total > acknowledged, `${acknowledged} of ${total} were acknowledged`);
          assert.ok(total <= acknowledged + 1 + WRITERS, `${total} are there`);
        });
      });
    }));

  test('a log that was removed is saved by stopping the server', () =>
    withDataDir(undefined, async (dataDir) => {
      await withUser(dataDir, async (server) => {
        rmSync(named(dataDir)('-wal'));
        await expectUnwritable(server, /rollcall\.db-wal/);
        await stop(server);
      });
      await withServe(dataDir, KNOWN, async ({ url }) => {
        assert.equal((await requestsTo(url)('GET', '/v1/users/ada')).status, 200);
      });
    }));

  test(
    'a directory that was removed is saved from the files that the process has open',
    { skip: noProc },
    () =>
      withDataDir(undefined, async (parent) => {
        const [dataDir, saved] = [join(parent, 'data'), join(parent, 'saved')];
        mkdirSync(saved);
        await withUser(dataDir, async (server) => {
          rmSync(dataDir, { recursive: true });
          await expectUnwritable(server, /rollcall\.db/);
          for (const descriptor of readdirSync(`/proc/${server.pid}/fd`)) {
            const [, name] =
              /\/(rollcall\.db(?:-wal)?) \(deleted\)$/.exec(linkOf(server.pid, descriptor)) ?? [];
            if (name !== undefined) copyFileSync(`/proc/${server.pid}/fd/${descriptor}`, join(saved, name));
          }
        });
        await withServe(saved, KNOWN, async ({ url }) => {
          assert.equal((await requestsTo(url)('GET', '/v1/users/ada')).status, 200);
        });
      }),
  );
});

function linkOf(pid: number, descriptor: string): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`);
  } catch {
    return '';
  }
}

/** Overwrites pages of the database behind the server's back. */
function overwrite(file: string, from: number): void {
  const descriptor = openSync(file, 'r+');
  const pages = fstatSync(descriptor).size / PAGE_BYTES;
  for (let page = from; page < pages; page += 1) {
    writeSync(descriptor, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES);
  }
  closeSync(descriptor);
}

describe('a database that is damaged under a running server', () => {
  const damages: [string, (file: string) => void][] = [
    ['malformed pages', (file) => overwrite(file, 1)],
    ['a malformed first page', (file) => overwrite(file, 0)],
    ['a truncated file', (file) => truncateSync(file, 0)],
  ];
  for (const [title, damage] of damages) {
    test(`${title}: requests that meet them are answered 503, and the process lives`, () =>
      withDataDir(undefined, (dataDir) =>
        withUser(dataDir, async (server) => {
          const { request } = server;
          const file = join(dataDir, 'rollcall.db');
          // The log is folded into the database when nothing is written for a while: reads then meet the damage.
          while (statSync(`${file}-wal`).size > 0) await setTimeout(ASK_EVERY_MS);
          damage(file);
          const read = await request('GET', '/v1/users/ada');
          assert.deepEqual([read.status, read.json<{ error: string }>().error], [503, 'error']);
          await expectUnwritable(server, /the store is damaged \(.*run "rollcall doctor"/);
          // The reader's timer, which renews its snapshot, meets the damage too.
          for (let count = 0; count < 20; count += 1) {
            await setTimeout(ASK_EVERY_MS);
            assert.equal((await request('GET', '/readyz')).status, 503);
          }
          await stop(server);
        }),
      ));
  }

  test('a write that meets it first is answered 503 too', () =>
    withDataDir(undefined, async (dataDir) => {
      const file = join(dataDir, 'rollcall.db');
      const users = Array.from({ length: 2_000 }, (_, index) => ({
        id: `user-${index}`,
        name: 'n'.repeat(100),
      }));
      await withUser(dataDir, async (server) => {
        assert.equal((await server.request('POST', '/v1/batch', { users })).status, 200);
        await stop(server);
      });
      // Another process, which has none of the pages in its memory.
      await withServe(dataDir, KNOWN, async (server) => {
        const request = requestsTo(server.url);
        // The last pages hold users; what authenticates the caller is before them.
        overwrite(file, statSync(file).size / PAGE_BYTES - 20);
        const statuses = new Set<number>();
        for (let index = 0; index < users.length && !statuses.has(503); index += 1) {
          statuses.add((await request('PUT', `/v1/users/user-${index}`, { name: 'N' })).status);
        }
        assert.deepEqual([...statuses].sort(), [200, 503]);
        await expectUnwritable({ ...server, request, pid: 0 }, /the store is damaged/);
        await stop(server);
      });
    }));
});

describe('a start on a directory from which data is missing', () => {
  const losses: [string, (dataDir: string) => void, RegExp][] = [
    [
      'an empty database beside the lock file',
      (dataDir) => truncateSync(named(dataDir)(''), 0),
      /the file is empty/,
    ],
    [
      'an empty database beside its log',
      (dataDir) => {
        truncateSync(named(dataDir)(''), 0);
        writeFileSync(named(dataDir)('-wal'), 'x'.repeat(10_000));
      },
      /the file is empty/,
    ],
    [
      'a log without its database',
      (dataDir) => renameSync(named(dataDir)(''), named(dataDir)('-wal')),
      /it is missing beside rollcall\.db-wal/,
    ],
  ];
  for (const [title, lose, line] of losses) {
    test(`${title}: one line, exit code 1, nothing changed, and the doctor reports it`, () =>
      withDataDir(undefined, async (dataDir) => {
        await withUser(dataDir, stop);
        lose(dataDir);
        const before = describeFiles(dataDir);
        for (const command of [
          ['serve', '--port', '0'],
          ['token', '--project', PROJECT.id],
          ['customer', 'list'],
        ]) {
          const { code, stderr } = await rollcall([...command, '--data-dir', dataDir]);
          assert.equal(code, 1);
          assert.match(stderr, /^rollcall: the store [^\n]+ cannot be opened: [^\n]+\n$/);
          assert.match(stderr, line);
        }
        const doctor = await rollcall(['doctor', '--data-dir', dataDir], { env: { ROLLCALL_PORT: '1' } });
        assert.equal(doctor.code, 1);
        assert.match(doctor.stdout, /^failed {3}store: /m);
        assert.deepEqual(describeFiles(dataDir), before);
      }));
  }

  test('a first start that was killed is begun again', () =>
    withDataDir(undefined, async (dataDir) => {
      // What such a start leaves behind: the lock file, and a database that did not get its name.
      writeFileSync(join(dataDir, 'serve.lock'), '', { mode: 0o600 });
      writeFileSync(join(dataDir, 'rollcall.db.new-1'), '');
      await withServe(dataDir, KNOWN, async ({ url }) => {
        const token = jwt({ customer_id: CUSTOMER.id, iat: seconds(Date.now()) }, CUSTOMER.secret);
        const answer = await send(url, 'GET', '/v1/projects', {
          headers: { authorization: `Bearer ${token}` },
        });
        assert.equal(answer.status, 200);
      });
    }));
});

const describeFiles = (dataDir: string) =>
  readdirSync(dataDir)
    .filter((name) => name.startsWith('rollcall.db'))
    .sort()
    .map((name) => [name, statSync(join(dataDir, name)).size]);
