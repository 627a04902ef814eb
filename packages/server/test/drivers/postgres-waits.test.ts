/** On PostgreSQL, what waits for others: large writes for large writes, readers of long lists for those who stop reading. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { type ProjectKey, type Store, StoreUnavailableError } from '../../src/store/store.ts';
import { joined } from '../contract/store/entries.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilSeen, untilWaiting } from '../support/postgres-waiting.ts';
import { SlowProxy } from '../support/slow-proxy.ts';

/** More members than a write has that is not large. */
const MANY = numbered('u', 1_001);

/** Keeps this thread busy for longer than connecting may take, and than a server may be silent. */
const stayBusy = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_600);

/** Resolves when somebody has looked whether another large write is at work. */
const untilLooked = (url: string) => untilSeen(url, 1, `state = 'idle' AND query LIKE '%xact_start <%'`);

describe('a large write that waits', { skip: skipsPostgres }, () => {
  /** Locks a group as a large write of that project, or of all, does in another process that is at work until `use` is done. */
  async function workAtLength(
    url: string,
    project: ProjectKey | '',
    use: () => Promise<void>,
  ): Promise<void> {
    await withClient(url, async (client) => {
      await client.query(`SET application_name = 'rollcall large write ${project}'`);
      await client.query('BEGIN');
      await client.query(`SELECT 1 FROM groups WHERE id = 'g' FOR UPDATE`);
      const working = client.query('SELECT pg_sleep(60)').catch((error) => error);
      await use();
      await withClient(url, (other) =>
        other.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND pid <> pg_backend_pid()`,
        ),
      );
      await working;
      await client.query('ROLLBACK');
    });
  }

  test('for another one at work goes on when that is done, whatever it is, though no read goes through meanwhile', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      await roster.users(...MANY);
      let writes: Promise<unknown> = Promise.resolve();
      await withClient(url, async (client) => {
        await workAtLength(url, roster.key, async () => {
          writes = Promise.all([
            roster.applied({ groups: [{ id: 'g', name: 'New' }] }),
            roster.putGroup('g', { members: MANY }),
            roster.changeMembers('g', { add: MANY }),
          ]);
          writes.catch(() => {});
          // Longer than anybody waits for the turn at a row. Longer than any question may take, and than a lock is waited for at once.
          await client.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
          const reads = Array.from({ length: 200 }, () => store.findSession('s'));
          for (const settled of await Promise.allSettled(reads)) {
            assert.ok(settled.status === 'rejected' && settled.reason instanceof StoreUnavailableError);
          }
          await client.query('ROLLBACK');
        });
      });
      await writes;
      assert.equal((await roster.group('g')).name, 'New');
      assert.deepEqual(await roster.members('g'), MANY);
      await store.close();
    }));

  /** That it is written once the other one, of the roster's project or of all, is done. */
  const waits = (
    other: 'of the project' | 'of all',
    write: (roster: Roster, store: Store) => Promise<unknown>,
  ): Promise<void> =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      await roster.users(...MANY);
      let written: Promise<unknown> = Promise.resolve();
      await workAtLength(url, other === 'of all' ? '' : roster.key, async () => {
        written = write(roster, store);
        written.catch(() => {});
        await Promise.race([written, untilLooked(url)]);
      });
      await written;
      await store.close();
    });

  test('of one project for records that are carried in goes on when those are written', () =>
    waits('of all', (roster) => roster.putGroup('g', { members: MANY })));

  test('of carried records for a large write of one project goes on when that is done', () =>
    waits('of the project', async (_, store) => {
      const [project] = await store.listProjects(null);
      assert.ok(project);
      const workspace = { projectId: project.id, groupId: 'g', workspace: 'W' };
      return store.carryIn([{ type: 'workspace', ...workspace }], { now: 1, revision: 'carried' });
    }));

  test('for another one at work goes on when connecting to look for signs of life takes seconds', () =>
    withDatabase((url) =>
      SlowProxy.with(url, async (proxy, through) => {
        const store = await openPostgresStore({ url: through });
        const roster = await newRoster(store);
        await roster.groupOf('g', 'ann');
        await roster.users(...MANY);
        let write: Promise<unknown> = Promise.resolve();
        await workAtLength(url, roster.key, async () => {
          proxy.delayMs = 2_000;
          write = roster.putGroup('g', { members: MANY });
          write.catch(() => {});
          await Promise.race([write, untilLooked(url)]);
        });
        assert.equal(((await write) as { kind: string }).kind, 'updated');
        await store.close();
      }),
    ));

  test('for another one at work goes on when its own process was busy for seconds', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      await roster.users(...MANY);
      let write: Promise<unknown> = Promise.resolve();
      await workAtLength(url, roster.key, async () => {
        write = roster.putGroup('g', { members: MANY });
        write.catch(() => {});
        // When the first check is due.
        await delay(500);
        stayBusy();
        await untilWaiting(url, 1);
      });
      assert.equal(((await write) as { kind: string }).kind, 'updated');
      await store.close();
    }));
});

describe('a deletion that takes long', { skip: skipsPostgres }, () => {
  test('takes as long as it needs, also after it waited for a lock', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url: `${url}?statement_timeout_ms=600` });
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      await withClient(url, async (client) => {
        await client.query(
          'CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$',
        );
        await client.query(
          'CREATE TRIGGER take_long AFTER DELETE ON memberships FOR EACH STATEMENT EXECUTE FUNCTION take_long()',
        );
        await client.query('BEGIN');
        await client.query('SELECT 1 FROM groups FOR UPDATE');
        const deletion = roster.deleteGroup('g');
        deletion.catch(() => {});
        // Longer than in company.
        await untilWaiting(url, 1, 100);
        await client.query('ROLLBACK');
        await deletion;
      });
      assert.equal(await store.findGroup(roster.key, 'g'), null);
      await store.close();
    }));
});

describe('readers of long lists who stop reading', { skip: skipsPostgres }, () => {
  const SIZE = 10_500;

  test('leave it to others, and go on where the group has not changed', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      const ids = numbered('u', SIZE);
      await roster.users(...ids.slice(0, 10_000));
      await roster.users(...ids.slice(10_000));
      for (const id of ['same', 'changed']) await roster.putGroup(id, { name: id, members: ids });
      const stopped = await Promise.all(
        ['same', 'changed', 'same', 'changed'].map(async (id) => {
          const { members } = await roster.group(id);
          assert.ok(typeof members !== 'string');
          const pieces = members[Symbol.asyncIterator]();
          const begun = [(await pieces.next()).value, (await pieces.next()).value];
          const rest = { [Symbol.asyncIterator]: () => pieces };
          return async () => begun.join('') + (await joined(rest));
        }),
      );
      // Four more, who stop too: each takes the place of one.
      const later = await Promise.all(Array.from({ length: 4 }, () => roster.group('same')));
      await roster.changeMembers('changed', { remove: ['u000001', 'u010000'] });
      assert.deepEqual(
        await roster.members('changed'),
        ids.filter((id) => !/^u0(00001|10000)$/.test(id)),
      );
      for (const { members } of later) assert.equal(await joined(members), JSON.stringify(ids));
      const [one, two, three, four] = stopped as [(typeof stopped)[0], ...typeof stopped];
      for (const read of [one, three]) assert.equal(await read?.(), JSON.stringify(ids));
      for (const read of [two, four]) await assert.rejects(async () => read?.(), StoreUnavailableError);
      await store.close();
    }));
});
