/** Files of the embedded store that are removed or replaced under a running server. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { KNOWN, requestsTo, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { expectUnwritable, fatalLine, named, readyStatus, stop, withUser } from './stored-user.ts';

const WRITERS = 8;
const noProc = existsSync('/proc/self/fd') ? false : 'this system has no /proc';

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
    test(`${title}: no write is acknowledged, /readyz answers 503, and reads continue`, () =>
      withDataDir((parent) => {
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

  test('the directory is removed: a reading that opens the file is answered with 503 and Retry-After', () =>
    withDataDir((parent) => {
      const dataDir = join(parent, 'data');
      return withUser(dataDir, async ({ request }) => {
        // More than one page of members, which are read from a connection of their own.
        const users = Array.from({ length: 10_000 }, (_, index) => ({ id: `u${index}` }));
        const groups = [{ id: 'g', name: 'G', members: users.map(({ id }) => id) }];
        assert.equal((await request('POST', '/v1/batch', { users, groups })).status, 200);
        assert.equal((await request('POST', '/v1/groups/g/members', { add: ['ada'] })).status, 200);
        rmSync(dataDir, { recursive: true });
        const reading = await request('GET', '/v1/groups/g');
        assert.deepEqual([reading.status, reading.json<{ error: string }>().error], [503, 'error']);
        assert.match(String(reading.headers['retry-after']), /^\d+$/);
      });
    }));

  test('/readyz answers 503 within a second after files of the store were replaced, also without a write', () =>
    withDataDir((parent) => {
      const dataDir = join(parent, 'data');
      return withUser(dataDir, async ({ request, process: server }) => {
        rmSync(dataDir, { recursive: true });
        await readyStatus(request, 503);
        await server.output(/"level":60[^\n]*\n/);
        assert.match(fatalLine(server.stdout), /removed or replaced/);
      });
    }));

  test('under load, every acknowledged write is in the files that were open at that time, also when they are replaced', () =>
    withDataDir((parent) => {
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

  test('a write-ahead log that was removed is restored by stopping the server', () =>
    withDataDir(async (dataDir) => {
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
    'a data directory that was removed is saved from the files that the process has open',
    { skip: noProc },
    () =>
      withDataDir(async (parent) => {
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
