import type { NotificationChannels, Status } from '@rollcall/protocol';
import { NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import type {
  PageRequest,
  ProjectKey,
  PutUserOutcome,
  TotalPage,
  UserRecord,
  WriteContext,
} from '../store.ts';
import type { StoredUserWrite } from '../stored-write.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { Attempt, PostgresDatabase } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { ALIVE, assertAlive, meetsPrecondition, preconditionParameters } from './postgres-outcomes.ts';
import { pageSql, toPage } from './postgres-pages.ts';
import { jsonText, jsonTime } from './postgres-text.ts';

const FIND = `
  SELECT name, short_name, email, profile_picture_url, status, metadata, created_at, updated_at, revision
  FROM users WHERE project_id = $1 AND id = $2`;

const LIST = pageSql({
  rows: 'SELECT * FROM users WHERE project_id = $1 AND id > $2',
  entry: `'{"id":' || to_json(page.id)::text || ',"name":' || ${jsonText('page.name')}
    || ',"short_name":' || ${jsonText('page.short_name')} || ',"email":' || ${jsonText('page.email')}
    || ',"profile_picture_url":' || ${jsonText('page.profile_picture_url')}
    || ',"status":"' || page.status || '","metadata":' || page.metadata
    || ',"created_at":' || ${jsonTime('page.created_at')} || ',"updated_at":' || ${jsonTime('page.updated_at')} || '}'`,
  limit: '$3',
  total: `(SELECT coalesce(sum(users), 0)::bigint FROM user_counts WHERE project_id = $1)`,
});

const FIND_PREFERENCES = `
  SELECT send_via_messenger, send_via_email FROM users WHERE project_id = $1 AND id = $2`;

/** Reads of users. */
export function userReads(database: PostgresDatabase) {
  return {
    async find(project: ProjectKey, id: string): Promise<UserRecord | null> {
      const [row] = await database.read(FIND, project, id);
      return row === undefined ? null : toUser(id, row);
    },
    async list(project: ProjectKey, { after, limit }: PageRequest): Promise<TotalPage> {
      const [row] = await database.read(LIST, project, after ?? '', limit);
      return toPage(row as Row) as TotalPage;
    },
    async preferences(project: ProjectKey, id: string): Promise<Required<NotificationChannels> | null> {
      const [row] = await database.read(FIND_PREFERENCES, project, id);
      return row === undefined
        ? null
        : { sendViaMessenger: row[0] as boolean, sendViaEmail: row[1] as boolean };
    },
  };
}

function toUser(id: string, row: Row): UserRecord {
  return {
    id,
    name: row[0] as string | null,
    shortName: row[1] as string | null,
    email: row[2] as string | null,
    profilePictureUrl: row[3] as string | null,
    status: row[4] as Status,
    metadata: row[5] as string,
    createdAt: row[6] as number,
    updatedAt: row[7] as number,
    revision: row[8] as string,
  };
}

/** The fields that a write can change, as the columns of parameter $n: NULL keeps what is there, '' clears it. */
const after = (row: string, parameter: (field: string) => string) => ({
  name: `nullif(coalesce(${parameter('name')}, ${row}.name), '')`,
  short_name: `nullif(coalesce(${parameter('short_name')}, ${row}.short_name), '')`,
  email: `nullif(coalesce(${parameter('email')}, ${row}.email), '')`,
  profile_picture_url: `nullif(coalesce(${parameter('profile_picture_url')}, ${row}.profile_picture_url), '')`,
  status: `coalesce(${parameter('status')}, ${row}.status)`,
  metadata: `coalesce(${parameter('metadata')}, ${row}.metadata)`,
});

/** SQL that sets every field of the row `u` from `parameter`s. */
export function userAssignments(parameter: (field: string) => string): string {
  return Object.entries(after('u', parameter))
    .map(([column, value]) => `${column} = ${value}`)
    .join(', ');
}

/** The fields in the order of the parameters of every write. */
export const USER_FIELDS = [
  'name',
  'short_name',
  'email',
  'profile_picture_url',
  'status',
  'metadata',
] as const;

export type UserField = (typeof USER_FIELDS)[number];

/** What a write supplies, field by field: null where it does not, '' where it clears. */
export function suppliedFields(write: StoredUserWrite): (string | null)[] {
  return USER_FIELDS.map((field) => (write[field] === null ? '' : (write[field] ?? null)));
}

const parameterOf = (field: string) => `$${USER_FIELDS.indexOf(field as UserField) + 3}::text`;

// FOR UPDATE, although no key changes: a weaker lock shares the row with those who hold it for a membership, and two
// such updates then deadlock.
const UPDATE = `
  WITH before AS (
    SELECT name, short_name, email, profile_picture_url, status, metadata, revision FROM users
    WHERE project_id = $1 AND id = $2 AND ${ALIVE} FOR UPDATE),
  changed AS (
    UPDATE users u SET ${userAssignments(parameterOf)}, updated_at = greatest(u.updated_at, $9), revision = $10
    FROM before
    WHERE u.project_id = $1 AND u.id = $2 AND ${meetsPrecondition('before.revision', '$11', '$12', '$13')}
      AND (${Object.entries(after('before', parameterOf))
        .map(([column, value]) => `before.${column} IS DISTINCT FROM ${value}`)
        .join(' OR ')})
    RETURNING 1)
  SELECT ${ALIVE}, before.status, before.revision, EXISTS (SELECT 1 FROM changed)
  FROM (SELECT 1) one LEFT JOIN before ON TRUE`;

const INSERT = `
  WITH made AS (
    INSERT INTO users (project_id, id, name, short_name, email, profile_picture_url, status, metadata,
      created_at, updated_at, revision)
    SELECT $1, $2, nullif($3::text, ''), nullif($4::text, ''), nullif($5::text, ''), nullif($6::text, ''),
      coalesce($7::text, 'active'), coalesce($8::text, '{}'), $9, $9, $10
    WHERE ${ALIVE}
    ON CONFLICT (project_id, id) DO NOTHING RETURNING 1),
  counted AS (
    INSERT INTO user_counts (project_id, slot, users) SELECT $1, $11, 1 FROM made
    ON CONFLICT (project_id, slot) DO UPDATE SET users = user_counts.users + excluded.users)
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM made)`;

/** A user count has so many rows, and each write takes one of them: see the table. */
const COUNT_SLOTS = 16;
export const anyCountSlot = (): number => Math.floor(Math.random() * COUNT_SLOTS);

/** SQL: adds $3 to the project's number of users, in slot $2. */
export const COUNT_USERS = `
  INSERT INTO user_counts (project_id, slot, users) VALUES ($1, $2, $3)
  ON CONFLICT (project_id, slot) DO UPDATE SET users = user_counts.users + excluded.users`;

/** One statement where the user is there, two where they are created. */
export async function putUser(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  write: StoredUserWrite,
  context: WriteContext,
): Promise<PutUserOutcome> {
  const fields = suppliedFields(write);
  const { now, revision } = context;
  const [updated] = await attempt.run(
    ...([UPDATE, project, id, ...fields, now, revision, ...preconditionParameters(context)] as const),
  );
  const [alive, status, before, changed] = updated as Row;
  assertAlive(alive);
  const failure = preconditionFailure(context, before as string | null);
  if (failure !== null) return failure;
  if (before !== null)
    return { kind: changed === true ? 'updated' : 'unchanged', effects: turn(id, status, write) };
  const [inserted] = await attempt.run(INSERT, project, id, ...fields, now, revision, anyCountSlot());
  assertAlive(inserted?.[0]);
  if (inserted?.[1] !== true) throw new LostRaceError('the user was created meanwhile');
  return { kind: 'created', effects: NO_EFFECTS };
}

function turn(id: string, before: unknown, { status }: StoredUserWrite) {
  if (status === undefined || status === before) return NO_EFFECTS;
  return status === 'deleted' ? { ...NO_EFFECTS, deactivated: [id] } : { ...NO_EFFECTS, reactivated: [id] };
}

const PUT_PREFERENCES = `
  WITH changed AS (
    UPDATE users SET send_via_messenger = coalesce($3::boolean, send_via_messenger),
      send_via_email = coalesce($4::boolean, send_via_email)
    WHERE project_id = $1 AND id = $2 AND ${ALIVE} RETURNING 1)
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM changed)`;

export async function putPreferences(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { sendViaMessenger, sendViaEmail }: NotificationChannels,
): Promise<boolean> {
  const [row] = await attempt.run(
    PUT_PREFERENCES,
    project,
    id,
    sendViaMessenger ?? null,
    sendViaEmail ?? null,
  );
  assertAlive(row?.[0]);
  return row?.[1] === true;
}
