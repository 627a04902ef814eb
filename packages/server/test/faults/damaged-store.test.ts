/** Pages of the embedded store that are overwritten under a running server. */
import assert from 'node:assert/strict';
import { closeSync, openSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { KNOWN, requestsTo, rollcall, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { expectUnwritable, POLL_MS, stop, withUser } from './stored-user.ts';

const PAGE_BYTES = 4_096;

/** Overwrites pages of the database without the server. */
function overwrite(file: string, pages: Iterable<number>): void {
  const descriptor = openSync(file, 'r+');
  for (const page of pages) {
    writeSync(descriptor, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, page * PAGE_BYTES);
  }
  closeSync(descriptor);
}

/** The numbers of the file's pages, from `first` on. */
const pagesFrom = (file: string, first: number) =>
  Array.from({ length: statSync(file).size / PAGE_BYTES - first }, (_, index) => first + index);

/** The numbers of the last pages with users. */
function pagesOfUsers(file: string): number[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const found = database.prepare(
    "SELECT pageno FROM dbstat WHERE name = 'users' AND pagetype = 'leaf' ORDER BY pageno DESC LIMIT 20",
  );
  return found.all().map(({ pageno }) => Number(pageno) - 1);
}

describe('a database file that is damaged under a running server', () => {
  const damages: [string, (file: string) => void][] = [
    ['malformed pages', (file) => overwrite(file, pagesFrom(file, 1))],
    ['a malformed first page', (file) => overwrite(file, pagesFrom(file, 0))],
  ];
  for (const [title, damage] of damages) {
    test(`${title}: requests that read the damaged pages are answered with 503, and the process stays alive`, () =>
      withDataDir((dataDir) =>
        withUser(dataDir, async (server) => {
          const { request } = server;
          const file = join(dataDir, 'rollcall.db');
          // The log is checkpointed into the database when nothing is written for a while: then reads find the damage.
          await until('the checkpoint', () => statSync(`${file}-wal`).size === 0);
          damage(file);
          const read = await request('GET', '/v1/users/ada');
          assert.deepEqual([read.status, read.json<{ error: string }>().error], [503, 'error']);
          await expectUnwritable(server, /the store is damaged \(.*run "rollcall doctor"/);
          // The timer that renews the reader's snapshot finds the damage too.
          for (let count = 0; count < 20; count += 1) {
            await setTimeout(POLL_MS);
            assert.equal((await request('GET', '/readyz')).status, 503);
          }
          await stop(server);
        }),
      ));
  }

  test('a truncated file: reads are answered with 503 unless the kernel ends the process, and the next start ends with an error', () =>
    withDataDir(async (dataDir) => {
      const file = join(dataDir, 'rollcall.db');
      await withUser(dataDir, async (server) => {
        await until('the checkpoint', () => statSync(`${file}-wal`).size === 0);
        truncateSync(file, 0);
        // A transaction that was open then still reads: pages that are in memory, or the mapped file, of which there is no more.
        let status: number | null = 200;
        await until('a read that finds the damage', async () => {
          const read = server.request('GET', '/v1/users/ada');
          status = await read.then((answer) => answer.status).catch(() => null);
          return status !== 200;
        });
        if (status === null) return assert.equal((await server.process.ended).signal, 'SIGBUS');
        assert.equal(status, 503);
        await expectUnwritable(server, /the store is damaged \(.*run "rollcall doctor"/);
        await stop(server);
      });
      const { code, stderr } = await rollcall(['serve', '--data-dir', dataDir]);
      assert.equal(code, 1);
      assert.match(stderr, /the file is empty, so what it held is lost/);
    }));

  test('a write that finds a damaged page first is answered with 503 too', () =>
    withDataDir(async (dataDir) => {
      const file = join(dataDir, 'rollcall.db');
      const users = Array.from({ length: 2_000 }, (_, index) => ({
        id: `user-${index}`,
        name: 'n'.repeat(100),
      }));
      await withUser(dataDir, async (server) => {
        assert.equal((await server.request('POST', '/v1/batch', { users })).status, 200);
        await stop(server);
      });
      const damagedPages = pagesOfUsers(file);
      // Another process, which has none of the pages in its memory.
      await withServe(dataDir, KNOWN, async (server) => {
        const request = requestsTo(server.url);
        overwrite(file, damagedPages);
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
