/**
 * The records of a transfer: the content of a whole store, the same for every engine. Each is a JSON object; with one line
 * each, they are the transfer format of docs/operations.md.
 */
import {
  Content,
  ConversationUrl,
  canonicalLocation,
  exactly,
  Flag,
  Id,
  integer,
  Location,
  list,
  MessageType,
  Metadata,
  maybe,
  Name,
  oneOf,
  parseJson,
  type Static,
  Status,
  text,
  UserItem,
  WebhookTypes,
  WebhookUrl,
} from '@rollcall/protocol';

/** Most rows of a batch of records: as many records, or as many memberships. */
export const TRANSFER_BATCH_ROWS = 1_000;
/** Most messages of a batch: each has up to 144 KiB of content and metadata. */
const MESSAGE_BATCH_ROWS = 100;

/** Most rows of a batch of one type of records. */
export const batchRows = (type: RecordType): number =>
  type === 'message' ? MESSAGE_BATCH_ROWS : TRANSFER_BATCH_ROWS;

/** The years that ISO 8601 writes with four digits, as answers do. */
const YEARS = {
  minimum: Date.parse('0000-01-01T00:00:00Z'),
  maximum: Date.parse('9999-12-31T23:59:59.999Z'),
};
const TIME_EXPECTED = 'milliseconds since 1970, a whole number up to the year 9999';
const Time = integer({ ...YEARS, minimum: 0, description: TIME_EXPECTED });
/** Of imported threads and messages, which may be older. */
const AnyTime = integer({ ...YEARS, description: `${TIME_EXPECTED}, or down to the year 0` });
const Secret = text({ minLength: 1, 'x-text': true, description: 'a secret' });
/** Part of the `ETag` header. */
const Revision = text({ pattern: '^[!#-~]{1,64}$', description: '1 to 64 visible ASCII characters' });

/** The fields of each type of record, in the order of the columns that the drivers read and write. */
export const RECORD_SCHEMAS = {
  /** The key that signs access tokens and page tokens. */
  service_key: exactly({
    key: text({ pattern: '^[A-Za-z0-9+/]{86}==$', description: '64 bytes in base64' }),
  }),
  customer: exactly({ id: Id, secret: Secret, name: Name, created_at: Time }),
  project: exactly({
    id: Id,
    customer_id: Id,
    name: Name,
    secret: Secret,
    previous_secret: maybe(Secret),
    previous_valid_until: maybe(Time),
    created_at: Time,
  }),
  /** An access token. */
  session: exactly({ project: Id, id: Id, expires_at: Time, revoked: maybe(Flag) }),
  /** How far it has come, its delivery under way and its attempts are left out: the changes that they are about stay behind. */
  webhook: exactly({
    project: Id,
    id: Id,
    url: WebhookUrl,
    types: maybe(WebhookTypes),
    status: maybe(oneOf(['active', 'paused', 'failing'], { description: '"active", "paused" or "failing"' })),
    secret: Secret,
    previous_secret: maybe(Secret),
    previous_valid_until: maybe(Time),
    created_at: Time,
  }),
  /** The fields of a user in a roster, and more. */
  user: exactly({
    project: Id,
    ...UserItem.properties,
    created_at: Time,
    updated_at: Time,
    revision: Revision,
    send_via_messenger: maybe(Flag),
    send_via_email: maybe(Flag),
  }),
  group: exactly({
    project: Id,
    id: Id,
    name: Name,
    status: maybe(Status),
    metadata: maybe(Metadata),
    workspace: maybe(text({ minLength: 1, 'x-text': true, description: 'the name of a workspace' })),
    revision: Revision,
  }),
  /** Some of a group's members. */
  members: exactly({
    project: Id,
    group: Id,
    users: list(Id, {
      minItems: 1,
      maxItems: TRANSFER_BATCH_ROWS,
      description: `an array of 1 to ${TRANSFER_BATCH_ROWS} user IDs`,
    }),
  }),
  durable_presence: exactly({
    project: Id,
    group: Id,
    user: Id,
    region: Location,
    location: Location,
    updated_at: Time,
  }),
  /** Its counts and its activity follow from its messages. */
  thread: exactly({
    project: Id,
    group: Id,
    id: Id,
    name: Name,
    url: maybe(ConversationUrl),
    location: maybe(Location),
    metadata: maybe(Metadata),
    created_at: AnyTime,
    resolved_at: maybe(AnyTime),
    revision: Revision,
  }),
  /** A user who has written in a thread, or has marked it as seen. */
  participant: exactly({ project: Id, thread: Id, user: Id, last_seen_at: AnyTime }),
  /** Those of a thread come in the order of their arrival, where their times are the same. */
  message: exactly({
    project: Id,
    thread: Id,
    id: Id,
    author: Id,
    message_type: maybe(MessageType),
    content: Content,
    url: maybe(ConversationUrl),
    metadata: maybe(Metadata),
    created_at: AnyTime,
    updated_at: maybe(AnyTime),
    deleted_at: maybe(AnyTime),
    revision: Revision,
  }),
};

export type RecordType = keyof typeof RECORD_SCHEMAS;
export type RecordOf<Type extends RecordType> = { readonly type: Type } & Readonly<
  Static<(typeof RECORD_SCHEMAS)[Type]>
>;
export type TransferRecord = { [Type in RecordType]: RecordOf<Type> }[RecordType];

/** In the order of an export: what a record names comes before it. */
export const RECORD_TYPES = Object.keys(RECORD_SCHEMAS) as RecordType[];

const FIELDS = new Map(RECORD_TYPES.map((type) => [type, Object.keys(RECORD_SCHEMAS[type].properties)]));
const fieldsOf = (type: RecordType) => FIELDS.get(type) as string[];

/** The types of which a record is a row of a table: its fields are columns, but for `project`, which names the project. */
export const TABLES = {
  customer: 'customers',
  project: 'projects',
  session: 'sessions',
  webhook: 'webhooks',
  user: 'users',
  group: 'groups',
} as const;
export type TableType = keyof typeof TABLES;

/** The columns of a record without its project, in order, and their types. */
export const tableColumns = (type: TableType) =>
  Object.entries(RECORD_SCHEMAS[type].properties)
    .filter(([name]) => name !== 'project')
    .map(([name, schema]) => ({ name, valueType: (schema as { type?: unknown }).type as string }));

/** A statement for each of these types. */
export const ofTables = (sqlOf: (type: TableType) => string) =>
  Object.fromEntries(Object.keys(TABLES).map((type) => [type, sqlOf(type as TableType)])) as {
    readonly [Type in TableType]: string;
  };

/** Selects the rows of a table, as the columns of their records. `withProjects` joins it, as `r`, with its projects `p`. */
export function selectRows(type: TableType, withProjects: (table: string) => string): string {
  const columns = tableColumns(type).map(({ name }) => `r.${name}`);
  return isInProject(type)
    ? `SELECT p.id, ${columns.join(', ')} FROM ${withProjects(TABLES[type])}`
    : `SELECT ${columns.join(', ')} FROM ${TABLES[type]} r`;
}

/** Whether records of the type belong to a project, which their first field names. */
export const isInProject = (type: TableType) => 'project' in RECORD_SCHEMAS[type].properties;

/** Left out of a record where it is so; the columns have it. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  status: 'active',
  metadata: '{}',
  message_type: 'user_message',
  revoked: false,
  send_via_messenger: true,
  send_via_email: true,
};
const FLAGS = new Set(['revoked', 'send_via_messenger', 'send_via_email']);
const JSON_TEXTS = new Set(['metadata', 'region', 'location', 'content', 'types']);

/** The records of rows whose columns are the fields of their type; of memberships (project, group, user) each. */
export const recordsOf = (type: RecordType, rows: readonly (readonly unknown[])[]): TransferRecord[] =>
  type === 'members' ? membersOf(rows as readonly Membership[]) : rows.map((row) => recordOf(type, row));

type Membership = readonly [project: string, group: string, user: string];

function membersOf(rows: readonly Membership[]): TransferRecord[] {
  const records: RecordOf<'members'>[] = [];
  for (const [project, group, user] of rows) {
    const last = records.at(-1);
    if (last?.project === project && last.group === group) last.users.push(user);
    else records.push({ type: 'members', project, group, users: [user] });
  }
  return records;
}

function recordOf(type: RecordType, row: readonly unknown[]): TransferRecord {
  const record: Record<string, unknown> = { type };
  for (const [index, field] of fieldsOf(type).entries()) {
    const value = FLAGS.has(field) ? Boolean(row[index]) : row[index];
    if (value !== null && value !== DEFAULTS[field]) record[field] = toField(field, value);
  }
  return record as unknown as TransferRecord;
}

function toField(field: string, value: unknown): unknown {
  if (JSON_TEXTS.has(field)) return parseJson(value as string);
  return field === 'key' ? Buffer.from(value as Uint8Array).toString('base64') : value;
}

export type Column = string | number | boolean | Uint8Array | null;

/** The records that a driver writes as they are: not those of many rows, and not conversations. */
type RowRecord = Exclude<TransferRecord, { type: 'members' } | ConversationRecord>;
export type ConversationRecord = RecordOf<'thread'> | RecordOf<'participant'> | RecordOf<'message'>;

export const isOfConversation = (record: TransferRecord): record is ConversationRecord =>
  record.type === 'thread' || record.type === 'participant' || record.type === 'message';

/** The columns of a record: JSON as text, locations in their canonical form, null where nothing is set. */
export const columnsOf = (record: RowRecord): Column[] =>
  fieldsOf(record.type).map((field) => toColumn(field, storedValue(record, field)));

/** A webhook has missed changes, so an imported one rests until its receiver has read everything anew. */
function storedValue(record: RowRecord, field: string): unknown {
  const value = (record as Record<string, unknown>)[field];
  const isActiveWebhook = record.type === 'webhook' && field === 'status' && value !== 'paused';
  return isActiveWebhook ? 'failing' : value;
}

function toColumn(field: string, value: unknown): Column {
  if (value === undefined || value === null || value === '') return (DEFAULTS[field] ?? null) as Column;
  if (field === 'key') return Buffer.from(value as string, 'base64');
  if (field === 'metadata' || field === 'types') return JSON.stringify(value);
  return JSON_TEXTS.has(field) ? canonicalLocation(value as Location) : (value as Column);
}
