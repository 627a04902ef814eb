/** The order of changes on PostgreSQL, where transactions that begin in one order commit in another. */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type { ChangeRecord } from '../../src/store/ports/changes.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { newRoster } from '../contract/store/roster.ts';
import { CONTEXT } from '../support/origin.ts';
import { skipsPostgres, withClient } from '../support/postgres.ts';
import { orderAll, recordsAfter } from '../support/recorded.ts';
import { type Orders, runWriters, type WriterOptions } from './change-writers.ts';
import { withPostgresStore } from './postgres-stores.ts';

const ROUNDS = 12;
/** Inserts a record as a write does. */
const RECORD = `INSERT INTO written_changes (project_id, at, actor, request_id, changes) VALUES ($1, 1, 'service', $2, ARRAY[$3])`;
const CHANGES = JSON.stringify([{ type: 'user.created', user: 'late' }]);

async function inAnotherProcess(options: WriterOptions): Promise<Orders> {
  const child = fork(new URL('./change-writers-process.ts', import.meta.url));
  child.send(options);
  const [orders] = await once(child, 'message');
  return orders as Orders;
}

/** Reads without pause until `isDone`, and then to the end. */
async function readAll(store: Store, project: ProjectKey, isDone: () => boolean): Promise<ChangeRecord[]> {
  const found: ChangeRecord[] = [];
  for (;;) {
    const wasDone = isDone();
    const { records } = await store.changes.read(project, found.at(-1)?.position ?? 0, 100);
    found.push(...records);
    if (wasDone && records.length === 0) return found;
  }
}

/** Transactions that commit long after others that began later, one after the other. */
async function commitLate(url: string, project: ProjectKey, isDone: () => boolean): Promise<number> {
  return withClient(url, async (client) => {
    let committed = 0;
    for (; !isDone(); committed += 1) {
      await client.query('BEGIN');
      await client.query(RECORD, [project, `late-${committed}`, CHANGES]);
      await client.query('SELECT pg_sleep(0.05)');
      await client.query('COMMIT');
    }
    return committed;
  });
}

/** The positions of each request. */
function positionsOf(records: readonly ChangeRecord[]): Map<string, number[]> {
  const positions = new Map<string, number[]>();
  for (const { requestId, position } of records) {
    const own = positions.get(requestId as string) ?? [];
    positions.set(requestId as string, [...own, position]);
  }
  return positions;
}

describe('the order of changes on PostgreSQL', { skip: skipsPostgres }, () => {
  test('a reader who polls misses no change of many writers on two processes, gets none twice, and each order holds', () =>
    withPostgresStore(async (store, url) => {
      const { key: project } = await newRoster(store);
      await store.users.put(project, 'shared', {}, { ...CONTEXT, revision: 'first', requestId: 'first' });
      let isDone = false;
      const reading = readAll(store, project, () => isDone);
      const late = commitLate(url, project, () => isDone);
      const orders = await Promise.all([
        runWriters({ url, project, name: 'here', rounds: ROUNDS }),
        inAnotherProcess({ url, project, name: 'there', rounds: ROUNDS }),
      ]);
      isDone = true;
      const lateCount = await late;
      await orderAll(store);
      const read = [...(await reading)];
      read.push(...(await recordsAfter(store, project, read.at(-1)?.position)));

      const { rows } = await withClient(url, (client) => client.query('SELECT count(*)::int FROM changes'));
      assert.equal(read.length, rows[0].count, 'nothing is missed or read twice');
      assert.deepEqual(
        read.map(({ position }) => position),
        Array.from(read, (_, index) => index + 1),
      );
      const positions = positionsOf(read);
      assert.equal([...positions.keys()].filter((id) => id.startsWith('late-')).length, lateCount);
      for (const [id, own] of positions)
        assert.equal((own.at(-1) as number) - (own[0] as number), own.length - 1, `${id} stands together`);
      assert.ok([...positions.values()].some((own) => own.length > 1));
      for (const [earlier, later] of orders.flat()) {
        const [before, after] = [positions.get(earlier), positions.get(later)];
        assert.ok((before?.at(-1) as number) < (after?.[0] as number), `${earlier} stands before ${later}`);
      }
    }));

  test('a transaction that is open for long delays no change of others, and gets a later position', () =>
    withPostgresStore(async (store, url) => {
      const roster = await newRoster(store);
      await withClient(url, async (client) => {
        await client.query('BEGIN');
        await client.query(RECORD, [roster.key, 'late', CHANGES]);
        await roster.putUser('ann', {});
        const records = await recordsAfter(store, roster.key);
        assert.deepEqual(
          records.map(({ position, changes }) => [position, changes]),
          [[1, [{ type: 'user.created', user: 'ann' }]]],
        );
        await client.query('COMMIT');
      });
      const [late] = await recordsAfter(store, roster.key, 1);
      assert.deepEqual([late?.position, late?.requestId], [2, 'late']);
    }));

  test('the changes of one write are adjacent, also where it has more than one pass orders', () =>
    withPostgresStore(async (store, url) => {
      const { key } = await newRoster(store);
      await withClient(url, async (client) => {
        for (const [requestId, parts] of [
          ['one', 2],
          ['large', 2_500],
          ['last', 1],
        ])
          await client.query(
            `INSERT INTO written_changes (project_id, at, actor, request_id, changes)
             VALUES ($1, 1, 'service', $2, array_fill($3::text, ARRAY[$4::integer]))`,
            [key, requestId, CHANGES, parts],
          );
      });
      const { newest, hasMore } = await store.changes.order([]);
      assert.deepEqual([newest, hasMore], [[[key, 2_502]], true]);
      const ids = (await recordsAfter(store, key)).map(({ requestId }) => requestId);
      assert.deepEqual(ids, ['one', 'one', ...Array(2_500).fill('large'), 'last']);
    }));

  test('while one process orders changes, another one does not wait for it', () =>
    withPostgresStore(async (store, url) => {
      const roster = await newRoster(store);
      await roster.putUser('ann', {});
      await withClient(url, async (client) => {
        await client.query('BEGIN');
        await client.query('SELECT 1 FROM change_order FOR UPDATE');
        assert.deepEqual(await store.changes.order([]), { newest: [], hasMore: true });
        await client.query('ROLLBACK');
      });
      assert.deepEqual(await store.changes.order([]), { newest: [[roster.key, 1]], hasMore: false });
    }));
});
