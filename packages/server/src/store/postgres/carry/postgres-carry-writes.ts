import type { CarriedRecord, CarryCounts, WriteStamp } from '../../store.ts';
import type { PostgresDatabase, Transaction } from '../connections/postgres-database.ts';
import { putCustomers, putProjects, putServiceKey, putSessions } from './postgres-carry-accounts.ts';
import { holdContents, putPreferences, putPresence, putWorkspaces } from './postgres-carry-contents.ts';
import type { CarriedType, CarriedWrite } from './postgres-carry-run.ts';

/** One call at a time, by the row that is only there to be locked: two of them may bring the same in any order. */
const ONE_AT_A_TIME = 'SELECT number FROM schema_migrations WHERE number = 0 FOR UPDATE';

/** Writes what another store's `carryOut` gave: all or nothing, each run of records of one type at once. */
export function carryIn(
  database: PostgresDatabase,
  records: readonly CarriedRecord[],
  stamp: WriteStamp,
): Promise<CarryCounts> {
  return database.operation((attempt) =>
    attempt.transaction('large', async (transaction) => {
      const [, writable] = await Promise.all([
        transaction.run([ONE_AT_A_TIME]),
        holdContents(transaction, records),
      ]);
      let written = 0;
      for (const run of runsOf(writable)) written += await writeRun(transaction, run, stamp);
      await transaction.commit();
      return { written, skipped: records.length - written };
    }),
  );
}

/** Records of one type that follow each other: what comes later may build on what was before. */
function runsOf(records: readonly CarriedRecord[]): CarriedRecord[][] {
  const runs: CarriedRecord[][] = [];
  for (const record of records) {
    const run = runs.at(-1);
    if (run?.[0]?.type === record.type) run.push(record);
    else runs.push([record]);
  }
  return runs;
}

async function writeRun(
  transaction: Transaction,
  run: readonly CarriedRecord[],
  stamp: WriteStamp,
): Promise<number> {
  const byKey = Map.groupBy(run, keyOf);
  const last = [...byKey.values()].map(lastOf);
  const write = WRITES[last[0]?.type as CarriedType] as CarriedWrite<CarriedType>;
  const counts = [...byKey.values()].map(({ length }) => length);
  let written = 0;
  for (const place of await write(transaction, last, stamp)) written += counts[place] as number;
  return written;
}

/** Of records about the same the last one counts, but a session that one of them has revoked is revoked. */
function lastOf(same: readonly CarriedRecord[]): CarriedRecord {
  const last = same.at(-1) as CarriedRecord;
  if (last.type !== 'session') return last;
  return { ...last, revoked: same.some((record) => record.type === 'session' && record.revoked) };
}

/** A text that two records of one type share when they are about the same. */
function keyOf(record: CarriedRecord): string {
  const { id, projectId, groupId, userId, region } = record as Partial<Record<string, unknown>>;
  return JSON.stringify([id, projectId, groupId, userId, region]);
}

const WRITES: { readonly [Type in CarriedType]: CarriedWrite<Type> } = {
  serviceKey: putServiceKey,
  customer: putCustomers,
  project: putProjects,
  session: putSessions,
  preferences: putPreferences,
  workspace: putWorkspaces,
  durablePresence: putPresence,
};
