/** Ended sessions on PostgreSQL: each statement removes a few, and no statement waits for another. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client } from 'pg';
import type { Store } from '../../src/store/store.ts';
import { newRoster } from '../contract/store/roster.ts';
import { skipsPostgres, withClient } from '../support/postgres.ts';
import { withPostgresStores } from './postgres-stores.ts';

const NOW = 1_000_000;
const ENDED = 7_300;
const MOST_AT_ONCE = 1_000;

/** Sessions that ended at various times, some of them many at the same, and two that did not. */
const INSERT_SESSIONS = `
  INSERT INTO sessions (id, project_id, expires_at)
  SELECT 'ended ' || n, $1::uuid, CASE WHEN n % 3 = 0 THEN 500 ELSE n END FROM generate_series(1, ${ENDED}) AS n
  UNION ALL SELECT 'at the end', $1::uuid, ${NOW} UNION ALL SELECT 'alive', $1::uuid, ${NOW + 1}`;

/** Records how many sessions each statement removed. */
const WATCH = `
  CREATE TABLE removals (sessions BIGINT NOT NULL);
  CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO removals SELECT count(*) FROM gone; RETURN NULL; END';
  CREATE TRIGGER removals AFTER DELETE ON sessions REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_removal()`;

async function withEndedSessions(
  processes: number,
  use: (stores: readonly Store[], client: Client) => Promise<void>,
): Promise<void> {
  await withPostgresStores(processes, async (stores, url) => {
    const { key } = await newRoster(stores[0] as Store);
    await withClient(url, async (client) => {
      await client.query(INSERT_SESSIONS, [key]);
      await client.query(WATCH);
      await use(stores, client);
    });
  });
}

async function left(client: Client): Promise<string[]> {
  const { rows } = await client.query('SELECT id FROM sessions ORDER BY id');
  return rows.map(({ id }) => id);
}

async function removals(client: Client): Promise<number[]> {
  const { rows } = await client.query('SELECT sessions::int FROM removals');
  return rows.map(({ sessions }) => sessions);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

describe('ended sessions', { skip: skipsPostgres }, () => {
  test('ended sessions are removed in slices until none is left', () =>
    withEndedSessions(1, async ([store], client) => {
      await store?.sessions.removeExpired(NOW);
      assert.deepEqual(await left(client), ['alive', 'at the end']);
      const slices = await removals(client);
      assert.equal(sum(slices), ENDED);
      assert.ok(Math.max(...slices) <= MOST_AT_ONCE, `${slices}`);
    }));

  test('ended sessions are removed once when several processes do it at once', () =>
    withEndedSessions(3, async (stores, client) => {
      await Promise.all([...stores, ...stores].map((store) => store.sessions.removeExpired(NOW)));
      assert.deepEqual(await left(client), ['alive', 'at the end']);
      assert.equal(sum(await removals(client)), ENDED);
    }));

  test('ended sessions that another transaction has locked are skipped, and removed another time', () =>
    withEndedSessions(1, async ([store], client) => {
      await client.query('BEGIN');
      await client.query(
        `SELECT 1 FROM sessions WHERE id IN ('ended 1', 'ended 3000', 'ended 7300') FOR UPDATE`,
      );
      await store?.sessions.removeExpired(NOW);
      assert.deepEqual(await left(client), ['alive', 'at the end', 'ended 1', 'ended 3000', 'ended 7300']);
      await client.query('ROLLBACK');
      await store?.sessions.removeExpired(NOW);
      assert.deepEqual(await left(client), ['alive', 'at the end']);
    }));
});
