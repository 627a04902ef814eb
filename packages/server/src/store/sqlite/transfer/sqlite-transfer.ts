import type { SQLInputValue } from 'node:sqlite';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { Json } from '../../../values/json.ts';
import { DURABLE_BOUNDS, type DurableBounds } from '../../durable-bounds.ts';
import { CHANGE_EPOCH, newChangeEpoch, newEpochStatements } from '../../new-epoch.ts';
import {
  StoreNotEmptyError,
  TransferError,
  type TransferStore,
  withKnownOwners,
} from '../../ports/transfer.ts';
import {
  batchRows,
  columnsOf,
  isInProject,
  isOfConversation,
  ofTables,
  RECORD_TYPES,
  type RecordOf,
  type RecordType,
  recordsOf,
  selectRows,
  TABLES,
  type TableType,
  type TransferRecord,
  tableColumns,
} from '../../transfer-records.ts';
import { SEQ_BITS } from '../conversation/sqlite-message-numbers.ts';
import { CONTENT, MESSAGE_TYPE } from '../conversation/sqlite-messages.ts';
import { DurablePresenceWrites } from '../presence/sqlite-durable-presence-writes.ts';
import { type Row, SqliteConnection, type Statement } from '../sqlite-connection.ts';
import { migrate } from '../sqlite-migrate.ts';
import type { SnapshotPool } from '../sqlite-snapshots.ts';
import { ConversationImport } from './sqlite-transfer-conversation.ts';

/** Threads `t` in the order of their creation, without those that are still to be purged. */
const THREADS = `threads t CROSS JOIN conversations c USING (conversation_no) CROSS JOIN groups g USING (group_no)
  CROSS JOIN projects p ON p.project_no = t.project_no`;

/** The rows of each type of record, in the order of their keys; those of deleted projects are not among them. */
export const TRANSFER_ROWS: Readonly<Record<RecordType, string>> = {
  service_key: `SELECT value FROM store_secrets WHERE name = 'service_key'`,
  ...ofTables((type) => selectRows(type, (table) => `projects p CROSS JOIN ${table} r USING (project_no)`)),
  session: `SELECT p.id, s.id, s.expires_at, s.revoked FROM sessions s CROSS JOIN projects p USING (project_no)`,
  members: `SELECT p.id, g.id, m.user_id
    FROM memberships m CROSS JOIN groups g USING (group_no) CROSS JOIN projects p USING (project_no)`,
  durable_presence: `SELECT p.id, g.id, d.user_id, d.region, d.location, d.updated_at
    FROM durable_presence d CROSS JOIN groups g USING (group_no) CROSS JOIN projects p USING (project_no)`,
  thread: `
    SELECT p.id, g.id, t.id, t.name, t.url, t.location, t.metadata, t.created_at, t.resolved_at, t.revision FROM ${THREADS}`,
  participant: `
    SELECT p.id, t.id, s.user_id, s.last_seen_at FROM ${THREADS} CROSS JOIN participants s ON s.thread_no = t.thread_no`,
  message: `
    SELECT p.id, t.id, m.id, m.author_id, ${MESSAGE_TYPE}, ${CONTENT}, m.url, m.metadata, m.created_at, m.updated_at,
      m.deleted_at, m.revision
    FROM ${THREADS} CROSS JOIN messages m
      ON m.message_no >= (t.thread_no << ${SEQ_BITS}) AND m.message_no < ((t.thread_no + 1) << ${SEQ_BITS})`,
};

/** Inserts a row from the columns of a record, ?1 to ?n; none where its project is not there. */
function insertRow(type: TableType): string {
  const columns = tableColumns(type).map(({ name }) => name);
  const values = (first: number) => columns.map((_, index) => `?${index + first}`).join(', ');
  if (!isInProject(type)) return `INSERT INTO ${TABLES[type]} (${columns.join(', ')}) VALUES (${values(1)})`;
  // Members are counted at the end.
  const [count, zero] = type === 'group' ? [', member_count', ', 0'] : ['', ''];
  return `INSERT INTO ${TABLES[type]} (project_no, ${columns.join(', ')}${count})
    SELECT project_no, ${values(2)}${zero} FROM projects WHERE id = ?1`;
}

const INSERTS = {
  service_key: `
    INSERT INTO store_secrets (name, value) VALUES ('service_key', ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  ...ofTables(insertRow),
  members: `
    INSERT INTO memberships (group_no, user_id, user_no, name, email, incarnation)
    SELECT g.group_no, u.id, u.user_no, u.name, u.email, random() & 2147483647
    FROM projects p CROSS JOIN groups g ON g.project_no = p.project_no AND g.id = ?2
      CROSS JOIN json_each(?3) CROSS JOIN users u ON u.project_no = p.project_no AND u.id = json_each.value
    WHERE p.id = ?1`,
};
type InsertedType = keyof typeof INSERTS;

/** The rows that follow from the other rows. */
const DERIVE = `
  INSERT INTO user_groups (user_no, group_id, group_no)
    SELECT m.user_no, g.id, g.group_no FROM memberships m CROSS JOIN groups g USING (group_no) ORDER BY 1, 2;
  UPDATE groups SET member_count = (SELECT count(*) FROM memberships m WHERE m.group_no = groups.group_no);
  UPDATE projects SET user_count = (SELECT count(*) FROM users u WHERE u.project_no = projects.project_no)`;

/** Memory for pages that are written, in KiB: an import touches the ends of a few indexes. */
const CACHE_KIB = 64 * 1_024;

interface SqliteTransferOptions {
  readonly snapshots: SnapshotPool;
  readonly durableBounds: DurableBounds;
  /** Called when a write is committed. */
  onChanged(): void;
}

/** The transfer of the embedded store in a file. */
export const sqliteTransfer = (
  file: string,
  { snapshots, durableBounds, onChanged }: SqliteTransferOptions,
): TransferStore => ({
  export: () => exportRecords(snapshots),
  async import(batches) {
    {
      // Its end is also that of what was not committed.
      using connection = new SqliteConnection(file, { readOnly: false });
      await importRecords(connection, durableBounds, batches);
    }
    onChanged();
  },
  async beginEpoch() {
    {
      using connection = new SqliteConnection(file, { readOnly: false });
      beginEpoch(connection);
    }
    onChanged();
  },
});

function beginEpoch({ database, prepare }: SqliteConnection): void {
  database.exec('BEGIN IMMEDIATE');
  prepare('UPDATE store_secrets SET value = ? WHERE name = ?').run(newChangeEpoch(), CHANGE_EPOCH);
  for (const statement of newEpochStatements()) prepare(statement).run();
  database.exec('COMMIT');
}

/** SQLite's name of a database that is in memory, and beyond its cache in a file without a name. */
const TEMPORARY = '';

/** Checks that a store could import the records: imports them into one that is temporary. @throws what an import throws */
export async function checkImport(batches: AsyncIterable<readonly TransferRecord[]>): Promise<void> {
  using connection = new SqliteConnection(TEMPORARY, { readOnly: false, isTemporary: true });
  migrate(connection.database);
  await importRecords(connection, DURABLE_BOUNDS, batches);
}

async function* exportRecords(pool: SnapshotPool): AsyncGenerator<TransferRecord[]> {
  const snapshot = await pool.acquire();
  try {
    for (const type of RECORD_TYPES) {
      let rows: Row[] = [];
      for (const row of snapshot.statement(TRANSFER_ROWS[type]).iterate()) {
        rows.push(row);
        if (rows.length < batchRows(type)) continue;
        yield recordsOf(type, rows);
        rows = [];
        await new Promise(setImmediate);
      }
      if (rows.length > 0) yield recordsOf(type, rows);
    }
  } catch (error) {
    if (pool.isActive(snapshot)) throw error;
    throw new StoreUnavailableError('the store was closed', { cause: error });
  } finally {
    pool.release(snapshot);
  }
}

/** Writes the records in one transaction, on a connection of its own. */
async function importRecords(
  connection: SqliteConnection,
  durableBounds: DurableBounds,
  batches: AsyncIterable<readonly TransferRecord[]>,
): Promise<void> {
  const { database, prepare } = connection;
  database.exec(`PRAGMA temp_store = FILE; PRAGMA cache_size = -${CACHE_KIB}`);
  const presence = new DurablePresenceWrites(connection, durableBounds);
  const conversation = new ConversationImport(connection);
  const findProject = prepare<[projectNo: number]>('SELECT project_no FROM projects WHERE id = ?');
  const inserts = new Map(Object.entries(INSERTS).map(([type, sql]) => [type, prepare(sql)]));
  const insertRows = (type: InsertedType, ...parameters: SQLInputValue[]): number =>
    (inserts.get(type) as Statement).run(...parameters);
  /** The project is there: its record came before. */
  const projectOf = ({ project }: { readonly project: string }) => findProject.get(project)?.[0] as number;

  function insert(record: TransferRecord): void {
    if (record.type === 'members') {
      const { project, group, users } = record;
      if (insertRows('members', project, group, JSON.stringify(users)) !== users.length)
        throw new TransferError('the group, or one of the users, has no earlier record', record);
    } else if (isOfConversation(record)) {
      conversation.insert(projectOf(record), record);
    } else {
      const columns = columnsOf(record).map((value) => (typeof value === 'boolean' ? Number(value) : value));
      if (record.type === 'durable_presence') insertPresence(record, columns);
      else insertRows(record.type, ...columns);
    }
  }

  function insertPresence(record: RecordOf<'durable_presence'>, columns: readonly unknown[]): void {
    const [region, location] = columns.slice(3, 5) as [Json, Json];
    const { group: groupId, user: userId, updated_at: at } = record;
    const outcome = presence.import(projectOf(record), { groupId, userId, region, location, at });
    if (outcome === 'exists') throw new TransferError('an earlier record is about the same region', record);
    if (outcome === 'noMember')
      throw new TransferError('there is no earlier record of the membership', record);
  }

  database.exec('BEGIN IMMEDIATE');
  const account = prepare('SELECT id FROM customers UNION ALL SELECT id FROM projects');
  if (account.get() !== undefined) throw new StoreNotEmptyError();
  for await (const batch of withKnownOwners(batches)) {
    for (const record of batch) {
      try {
        insert(record);
      } catch (error) {
        if (!(error as Error).message.startsWith('UNIQUE constraint')) throw error;
        throw new TransferError(`an earlier ${record.type} record is about the same`, record, error);
      }
    }
  }
  conversation.finish();
  database.exec(DERIVE);
  database.exec('COMMIT');
}
