import { randomUUID } from 'node:crypto';
import { DatabaseError } from 'pg';
import { CHANGE_EPOCH, newChangeEpoch, newEpochStatements } from '../../new-epoch.ts';
import {
  StoreNotEmptyError,
  TransferError,
  type TransferStore,
  withKnownOwners,
} from '../../ports/transfer.ts';
import {
  batchRows,
  type Column,
  type ConversationRecord,
  columnsOf,
  isInProject,
  isOfConversation,
  ofTables,
  RECORD_TYPES,
  type RecordType,
  recordsOf,
  selectRows,
  TABLES,
  type TableType,
  type TransferRecord,
  tableColumns,
} from '../../transfer-records.ts';
import { type Call, PostgresConnection, planEachTime } from '../connections/postgres-connection.ts';
import { toStoreFailure } from '../connections/postgres-errors.ts';
import type { LongReads } from '../connections/postgres-snapshots.ts';
import type { PostgresSettings } from '../connections/postgres-url.ts';
import { rowNamed } from '../postgres-lists.ts';
import { arraysOf, bytesArray } from '../postgres-text.ts';
import { locationKey, pairKeys } from '../presence/postgres-location-keys.ts';
import {
  CONVERSATION_ROWS,
  ConversationImport,
  DERIVE_CONVERSATIONS,
} from './postgres-transfer-conversation.ts';

/** How long a transfer may take, in milliseconds: a day, for a large store and a slow reader. */
const TIME_LIMIT_MS = 24 * 3_600_000;
/** A pipe whose reader rests, or a slow network, does not end an export. */
const EXPORT_LIMITS = { idleMs: TIME_LIMIT_MS, totalMs: TIME_LIMIT_MS };

/** The rows of each type of record; those of deleted projects are not among them. */
const ROWS: Readonly<Record<RecordType, string>> = {
  service_key: `SELECT value FROM store_secrets WHERE name = 'service_key'`,
  ...ofTables((type) => selectRows(type, (table) => `${table} r JOIN projects p USING (project_id)`)),
  members: `SELECT p.id, m.group_id, m.user_id FROM memberships m JOIN projects p USING (project_id)
    ORDER BY m.project_id, m.group_id, m.user_id`,
  durable_presence: `SELECT p.id, d.group_id, d.user_id, d.region, d.location, d.updated_at
    FROM durable_presence d JOIN projects p USING (project_id)`,
  ...CONVERSATION_ROWS,
};

const SQL_TYPES: Readonly<Record<string, string>> = { integer: 'bigint', boolean: 'boolean' };

/**
 * Inserts rows from an array for each of the columns, `name type` each, where `named`, FROM items of a row `w`, are there. It
 * answers a row for each.
 */
function insertInto(table: string, columns: readonly string[], ...named: readonly string[]): string {
  const names = columns.map((column) => column.split(' ')[0]).join(', ');
  const arrays = columns.map((column, index) => `$${index + 1}::${column.split(' ')[1]}[]`).join(', ');
  return planEachTime(
    `INSERT INTO ${table} (${names}) SELECT w.* FROM unnest(${arrays}) AS w(${names}) ${named.join(' ')} RETURNING 1`,
  );
}

/** The columns that follow those of a record. */
const MORE: { readonly [Type in TableType]?: readonly string[] } = {
  project: ['project_id uuid'],
  group: ['member_count bigint'],
};

const insertRows = (type: TableType): string =>
  insertInto(TABLES[type], [
    ...(isInProject(type) ? ['project_id uuid'] : []),
    ...tableColumns(type).map(({ name, valueType }) => `${name} ${SQL_TYPES[valueType] ?? 'text'}`),
    ...(MORE[type] ?? []),
  ]);

const OF_MEMBER = ['project_id uuid', 'group_id text', 'user_id text'] as const;
const INSERTS = {
  service_key: `INSERT INTO store_secrets (name, value) SELECT 'service_key', * FROM unnest($1::bytea[])
    ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING 1`,
  ...ofTables(insertRows),
  members: insertInto(
    'memberships',
    OF_MEMBER,
    rowNamed('groups', 'g', '1', 'r.id = w.group_id'),
    rowNamed('users', 'u', '1', 'r.id = w.user_id'),
  ),
  durable_presence: insertInto(
    'durable_presence',
    [
      ...[...OF_MEMBER, 'region_hash bytea', 'region text', 'location_hash bytea'],
      ...['location text', 'updated_at bigint'],
    ],
    rowNamed('memberships', 'm', '1', 'r.group_id = w.group_id AND r.user_id = w.user_id'),
  ),
  /** The pairs of a location are passed as the text of an array: the arrays of an array must have equal lengths. */
  pairs: `
    INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
    SELECT w.project_id, w.group_id, w.user_id, w.region_hash, w.pair_hash, w.pair_hashes::bytea[], w.updated_at
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::bigint[])
      AS w(project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)`,
};

/** A store whose positions are all of its first epoch has no such row. */
const SET_CHANGE_EPOCH = `INSERT INTO store_secrets (name, value) VALUES ($1, $2)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** One import at a time, by the row that is only there to be locked. */
const LOCK_IMPORTS = 'SELECT number FROM schema_migrations WHERE number = 0 FOR UPDATE';
const COUNT_ACCOUNTS = 'SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM projects)';

/** The rows that follow from the other rows. */
const DERIVE: readonly Call[] = [
  [
    `UPDATE groups g SET member_count = m.members
    FROM (SELECT project_id, group_id, count(*) AS members FROM memberships GROUP BY 1, 2) m
    WHERE g.project_id = m.project_id AND g.id = m.group_id`,
  ],
  ['INSERT INTO user_counts (project_id, slot, users) SELECT project_id, 0, count(*) FROM users GROUP BY 1'],
  ...DERIVE_CONVERSATIONS,
];

/** The store's own settings are for statements that find rows by their keys; here all rows are read. */
const SETTINGS = [
  ['enable_seqscan', 'on'],
  ['enable_hashjoin', 'on'],
  ['enable_mergejoin', 'on'],
  ['statement_timeout', 0],
  ['idle_in_transaction_session_timeout', 0],
] as const;

export const postgresTransfer = (settings: PostgresSettings, longReads: LongReads): TransferStore => ({
  export: () => exportRecords(longReads),
  async import(batches) {
    // Its end rolls back what was not committed.
    await using connection = await PostgresConnection.open(settings);
    try {
      await new PostgresImport(connection).run(batches);
    } catch (error) {
      throw toStoreFailure(error);
    }
  },
  async beginEpoch() {
    await using connection = await PostgresConnection.open(settings);
    const until = performance.now() + TIME_LIMIT_MS;
    try {
      await connection.begin('READ COMMITTED', SETTINGS, until);
      await connection.run([SET_CHANGE_EPOCH, CHANGE_EPOCH, newChangeEpoch()], until);
      for (const statement of newEpochStatements()) await connection.run([statement], until);
      await connection.end('COMMIT', until);
    } catch (error) {
      throw toStoreFailure(error);
    }
  },
});

async function* exportRecords(longReads: LongReads): AsyncGenerator<TransferRecord[]> {
  using snapshot = await longReads.snapshot(null, EXPORT_LIMITS);
  for (const type of RECORD_TYPES) {
    await snapshot.read(`DECLARE export_${type} NO SCROLL CURSOR FOR ${ROWS[type]}`);
    for (;;) {
      const rows = await snapshot.read(`FETCH ${batchRows(type)} FROM export_${type}`);
      if (rows.length > 0) yield recordsOf(type, rows);
      if (rows.length < batchRows(type)) break;
    }
  }
}

/** The records that are written as they are, in any order. */
type WrittenRecord = Exclude<TransferRecord, ConversationRecord>;

/** What is wrong with a record that names what is not there. */
const REFERENCES: Readonly<Record<string, string>> = {
  members: 'the group, or one of the users, has no earlier record',
  durable_presence: 'there is no earlier record of the membership',
  thread: 'there is no earlier record of the group',
  participant: 'there is no earlier record of the thread',
  message: 'there is no earlier record of the thread',
};

/** A key that is taken, also by another row of the same statement. */
const TWICE = new Set(['23505', '21000']);

/** A batch in its order, cut where another type of records begins: those name records of earlier types. */
function ofOneType(batch: readonly TransferRecord[]): TransferRecord[][] {
  const runs: TransferRecord[][] = [];
  for (const record of batch) {
    const last = runs.at(-1);
    if (last?.[0]?.type === record.type) last.push(record);
    else runs.push([record]);
  }
  return runs;
}

/** How the record contradicts others, if the error of its write says so. */
function contradictionOf(record: TransferRecord, error: unknown): TransferError | null {
  if (error instanceof TransferError) return error;
  if (!(error instanceof DatabaseError) || !TWICE.has(error.code ?? '')) return null;
  return new TransferError(`an earlier ${record.type} record is about the same`, record, error);
}

/** One transaction on a connection of its own. */
class PostgresImport {
  readonly #connection: PostgresConnection;
  readonly #until = performance.now() + TIME_LIMIT_MS;
  readonly #projects = new Map<string, string>();
  readonly #conversation: ConversationImport;
  #customers = 0;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
    this.#conversation = new ConversationImport((record) => this.#keyOf(record));
  }

  async run(batches: AsyncIterable<readonly TransferRecord[]>): Promise<void> {
    await this.#connection.begin('READ COMMITTED', SETTINGS, this.#until);
    await this.#run([LOCK_IMPORTS]);
    await this.#requireAccounts();
    for await (const batch of withKnownOwners(batches))
      for (const records of ofOneType(batch)) await this.#insert(records);
    for (const call of DERIVE) await this.#run(call);
    // A server that was started meanwhile has made a customer.
    await this.#requireAccounts();
    await this.#connection.end('COMMIT', this.#until);
  }

  #run(call: Call) {
    return this.#connection.run(call, this.#until);
  }

  async #requireAccounts(): Promise<void> {
    const [row] = await this.#run([COUNT_ACCOUNTS]);
    if (Number(row?.[0]) !== this.#customers || Number(row?.[1]) !== this.#projects.size)
      throw new StoreNotEmptyError();
  }

  /** Writes records of one type in their order. @throws TransferError for the first one that contradicts what is there */
  async #insert(records: readonly TransferRecord[]): Promise<void> {
    await this.#connection.control('SAVEPOINT records', this.#until);
    try {
      await this.#write(records);
      await this.#connection.control('RELEASE SAVEPOINT records', this.#until);
    } catch (error) {
      const contradiction = contradictionOf(records[0] as TransferRecord, error);
      if (contradiction === null || records.length === 1) throw contradiction ?? error;
      // One by one, to find the record.
      await this.#connection.control('ROLLBACK TO SAVEPOINT records', this.#until);
      for (const record of records) await this.#insert([record]);
    }
  }

  async #write(records: readonly TransferRecord[]): Promise<void> {
    const calls = [
      ...this.#callsFor(records.filter((record) => !isOfConversation(record))),
      ...this.#conversation.callsFor(records.filter(isOfConversation)),
    ];
    const answers = await Promise.all(calls.map((call) => this.#run(call)));
    const rows = records.flatMap((record) => (record.type === 'members' ? record.users : [record.type]));
    const [first] = records as [TransferRecord];
    if (answers.at(-1)?.length !== rows.length)
      throw new TransferError(REFERENCES[first.type] as string, first);
  }

  #callsFor(records: readonly WrittenRecord[]): Call[] {
    const rows = records.flatMap((record) => this.#rowsOf(record));
    const [first] = records;
    if (first === undefined) return [];
    if (first.type !== 'durable_presence') return [[INSERTS[first.type], ...arraysOf(rows)]];
    return [
      [INSERTS.pairs, ...arraysOf(rows.flatMap(pairRows))],
      [INSERTS.durable_presence, ...arraysOf(rows.map(presenceRow))],
    ];
  }

  /** The key of a record's project, whose record came before. */
  #keyOf({ project }: { readonly project: string }): string {
    return this.#projects.get(project) as string;
  }

  /** The rows of a record, with the project's key instead of its ID. */
  #rowsOf(record: WrittenRecord): Column[][] {
    const key = 'project' in record ? this.#keyOf(record) : '';
    if (record.type === 'members') return record.users.map((user) => [key, record.group, user]);
    const columns = columnsOf(record);
    switch (record.type) {
      case 'service_key':
        return [columns];
      case 'customer':
        this.#customers += 1;
        return [columns];
      case 'project':
        this.#projects.set(record.id, randomUUID());
        return [[...columns, this.#projects.get(record.id) as string]];
      case 'group':
        // Members are counted at the end.
        return [[key, ...columns.slice(1), 0]];
      default:
        return [[key, ...columns.slice(1)]];
    }
  }
}

type PresenceRow = [
  project: string,
  group: string,
  user: string,
  region: string,
  location: string,
  at: number,
];

function presenceRow(row: Column[]): Column[] {
  const [project, group, user, region, location, at] = row as PresenceRow;
  return [project, group, user, locationKey(region), region, locationKey(location), location, at];
}

function pairRows(row: Column[]): Column[][] {
  const [project, group, user, region, location, at] = row as PresenceRow;
  const pairs = pairKeys(location);
  const all = bytesArray(pairs);
  return pairs.map((pair) => [project, group, user, locationKey(region), pair, all, at]);
}
