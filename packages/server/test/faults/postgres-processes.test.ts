/** Several processes on one PostgreSQL: starting at once, writing while it is killed, and while one of them hangs. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { SchemaTooNewError } from '../../src/store/migration-files.ts';
import type { BatchOutcome } from '../../src/store/ports/batches.ts';
import { inspectPostgresStore } from '../../src/store/postgres/postgres-inspection.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { newRoster, Roster } from '../contract/store/roster.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { within } from '../support/waiting.ts';

const WRITER = fileURLToPath(new URL('./postgres-writer.ts', import.meta.url));
const PROCESSES = 10;
const LANES = 6;
const LIMIT_MS = 5_000;

function startWriter(url: string, key = '', lanes = 0) {
  const child = spawn(process.execPath, [WRITER, url, key, String(lanes)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, exited: once(child, 'exit'), errors: text(child.stderr) };
}

describe('the schema', { skip: skipsPostgres }, () => {
  test(`the schema is created once when ${PROCESSES} processes start at once`, () =>
    withDatabase(async (url) => {
      const started = Array.from({ length: PROCESSES }, () => startWriter(url));
      for (const { exited, errors } of started) {
        const [code] = await exited;
        assert.equal(code, 0, await errors);
      }
      const { schemaVersion, latestSchemaVersion, damages } = await inspectPostgresStore(url);
      assert.deepEqual([schemaVersion, damages], [latestSchemaVersion, []]);
      const applied = await withClient(url, (client) =>
        client.query('SELECT number FROM schema_migrations ORDER BY number'),
      );
      assert.equal(applied.rowCount, latestSchemaVersion + 1);
    }));

  test('a schema of a newer version is rejected, and not changed', () =>
    withDatabase(async (url) => {
      await (await openPostgresStore({ url })).close();
      await withClient(url, (client) => client.query('INSERT INTO schema_migrations (number) VALUES (9999)'));
      await assert.rejects(openPostgresStore({ url }), SchemaTooNewError);
      assert.equal((await inspectPostgresStore(url)).schemaVersion, 9_999);
    }));

  test('a schema that lacks a table is reported as damaged', () =>
    withDatabase(async (url) => {
      assert.equal((await inspectPostgresStore(url)).schemaVersion, 0);
      await (await openPostgresStore({ url })).close();
      await withClient(url, (client) => client.query('DROP TABLE durable_pairs'));
      assert.deepEqual((await inspectPostgresStore(url)).damages, ['table durable_pairs is missing']);
    }));
});

describe('a server that is killed while processes write', { skip: skipsOwnPostgres }, () => {
  test('a server that is killed while processes write loses no acknowledged write, and stores no write in part', () =>
    OwnPostgres.with(async (server) => {
      const store = await openPostgresStore({ url: server.url });
      const { key } = await newRoster(store);
      await store.close();
      for (let round = 0; round < 3; round += 1) {
        const acknowledged = await writeUntilKilled(server, String(key));
        await server.start();
        const reopened = await openPostgresStore({ url: server.url });
        await assertAcknowledgedStored(new Roster(reopened, key), acknowledged);
        await reopened.close();
      }
    }));
});

/** By lane, the last number that was acknowledged. */
async function writeUntilKilled(server: OwnPostgres, key: string): Promise<Map<number, number>> {
  const { child, exited } = startWriter(server.url, key, LANES);
  const acknowledged = new Map<number, number>();
  let answers = 0;
  let rest = '';
  let killed: Promise<void> | undefined;
  for await (const chunk of child.stdout) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [lane, number] = line.split(' ').map(Number);
      if (lane === undefined || number === undefined) continue;
      acknowledged.set(lane, number);
      answers += 1;
    }
    if (answers > 150) killed ??= server.kill();
  }
  await killed;
  await exited;
  return acknowledged;
}

/** The data of a lane is one whole batch: the last acknowledged one, or the one in flight. */
async function assertAcknowledgedStored(
  roster: Roster,
  acknowledged: ReadonlyMap<number, number>,
): Promise<void> {
  assert.equal(acknowledged.size, LANES, 'every lane has written');
  for (const [lane, number] of acknowledged) {
    const { name } = await roster.user(`u${lane}`);
    const group = await roster.group(`g${lane}`);
    assert.equal(group.name, name, 'of one batch');
    assert.equal(group.members, Number(name) % 2 === 0 ? `["u${lane}"]` : '[]');
    assert.ok([number, number + 1].includes(Number(name)), `lane ${lane}: ${name}, acknowledged ${number}`);
  }
}

describe('a process that hangs in the middle of its writes', { skip: skipsPostgres }, () => {
  // The server ends its transaction after ten seconds without a statement.
  test('a process that hangs in the middle of its writes does not block the writes of other processes for long', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      const { child, exited } = startWriter(url, String(roster.key), LANES);
      child.stdout.resume();
      try {
        await withClient(url, (client) => hangInTransaction(child, client));
        const lanes = Array.from({ length: LANES }, (_, lane) => lane);
        const batch = {
          users: lanes.map((lane) => ({ id: `u${lane}`, name: 'of another' })),
          groups: lanes.map((lane) => ({ id: `g${lane}`, name: 'of another' })),
        };
        // A write that is blocked is unavailable in time, and the caller sends it again.
        await assert.rejects(within(LIMIT_MS, roster.batch(batch)), StoreUnavailableError);
        let outcome: BatchOutcome | undefined;
        while (outcome === undefined) {
          outcome = await roster.batch(batch).catch((error) => {
            if (!(error instanceof StoreUnavailableError)) throw error;
            return undefined;
          });
        }
        assert.equal(outcome.kind, 'applied');
      } finally {
        child.kill('SIGKILL');
        await exited;
        await store.close();
      }
    }));
});

/** Stops a writer in the middle of a transaction that has written users. */
async function hangInTransaction(child: ChildProcess, client: Client): Promise<void> {
  for (;;) {
    child.kill('SIGSTOP');
    if (await isAnyInTransaction(client)) return;
    child.kill('SIGCONT');
    await delay(1);
  }
}

/** Read when no connection was active for a while. */
async function isAnyInTransaction(client: Client): Promise<boolean> {
  for (;;) {
    const { rows } = await client.query(`
      SELECT state = 'active' OR clock_timestamp() - state_change < interval '100 ms' AS is_busy,
        state = 'idle in transaction' AND pid IN (
          SELECT pid FROM pg_locks WHERE relation = 'users'::regclass AND mode = 'RowExclusiveLock') AS is_writing
      FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'rollcall%'`);
    if (!rows.some(({ is_busy }) => is_busy)) return rows.some(({ is_writing }) => is_writing);
  }
}
