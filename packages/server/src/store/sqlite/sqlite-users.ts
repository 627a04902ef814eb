import type { NotificationChannels, Status } from '@rollcall/protocol';
import { NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import type {
  DeleteOutcome,
  Departure,
  PageRequest,
  ProjectKey,
  PutUserOutcome,
  TotalPage,
  UserRecord,
  WriteContext,
} from '../store.ts';
import type { StoredUserWrite } from '../stored-write.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import type { MembershipWrites, UserCard } from './sqlite-members.ts';
import { toPage, UNPEEKED } from './sqlite-pages.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const COLUMNS =
  'user_no, name, short_name, email, profile_picture_url, status, metadata, created_at, updated_at, revision';

/** An SQL expression: milliseconds in `column` as the ISO 8601 text that JSON carries. */
const timestamp = (column: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`;

/** Reads of users, on the main thread. */
export function userReads(reader: SqliteReader) {
  const find = reader.prepare(`SELECT ${COLUMNS} FROM users WHERE project_no = ? AND id = ?`);
  const total = reader.prepare('SELECT user_count FROM projects WHERE project_no = ?');
  const boundary = reader.prepare(
    `SELECT id FROM users WHERE project_no = ? AND id > ? ORDER BY id LIMIT 2 OFFSET ${UNPEEKED}`,
  );
  const page = reader.prepare(`
    SELECT group_concat('{"id":' || json_quote(id) || ',"name":' || json_quote(name)
        || ',"short_name":' || json_quote(short_name) || ',"email":' || json_quote(email)
        || ',"profile_picture_url":' || json_quote(profile_picture_url)
        || ',"status":"' || status || '","metadata":' || metadata
        || ',"created_at":"' || ${timestamp('created_at')} || '","updated_at":"' || ${timestamp('updated_at')} || '"}', ','),
      count(*)
    FROM (SELECT * FROM users WHERE project_no = ? AND id > ? ORDER BY id LIMIT ${UNPEEKED})`);
  const preferences = reader.prepare(
    'SELECT send_via_messenger, send_via_email FROM users WHERE project_no = ? AND id = ?',
  );

  return {
    find(project: ProjectKey, id: string): UserRecord | null {
      const row = find.get(project, id);
      return row === undefined ? null : toUser(id, row);
    },
    list(project: ProjectKey, { after, limit }: PageRequest): TotalPage {
      const start = after ?? '';
      const row = page.get(project, start, limit) as Row;
      const { items, count, last } = toPage(row, limit, (offset) => boundary.all(project, start, offset));
      return { items, count, last, total: Number(total.get(project)?.[0] ?? 0) };
    },
    preferences(project: ProjectKey, id: string): Required<NotificationChannels> | null {
      const row = preferences.get(project, id);
      return row === undefined ? null : { sendViaMessenger: row[0] === 1, sendViaEmail: row[1] === 1 };
    },
  };
}

interface StoredUser extends UserRecord {
  readonly userNo: number;
}

function toUser(id: string, row: Row): StoredUser {
  return {
    userNo: row[0] as number,
    id,
    name: row[1] as string | null,
    shortName: row[2] as string | null,
    email: row[3] as string | null,
    profilePictureUrl: row[4] as string | null,
    status: row[5] as Status,
    metadata: row[6] as string,
    createdAt: row[7] as number,
    updatedAt: row[8] as number,
    revision: row[9] as string,
  };
}

/** What a write leaves of the fields that a write can change: supplied ones replaced, the others as they were. */
function merge(
  before: Pick<UserRecord, MutableField> | null,
  write: StoredUserWrite,
): Pick<UserRecord, MutableField> {
  const text = (supplied: string | null | undefined, current: string | null | undefined) =>
    supplied === undefined ? (current ?? null) : supplied === '' ? null : supplied;
  return {
    name: text(write.name, before?.name),
    shortName: text(write.short_name, before?.shortName),
    email: text(write.email, before?.email),
    profilePictureUrl: text(write.profile_picture_url, before?.profilePictureUrl),
    status: write.status ?? before?.status ?? 'active',
    metadata: write.metadata ?? before?.metadata ?? '{}',
  };
}

const MUTABLE = ['name', 'shortName', 'email', 'profilePictureUrl', 'status', 'metadata'] as const;
type MutableField = (typeof MUTABLE)[number];

/** Writes of users, on the writer's thread. */
export class UserWrites {
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #delete;
  readonly #count;
  readonly #setPreferences;
  readonly #memberships: MembershipWrites;

  constructor(connection: SqliteConnection, memberships: MembershipWrites) {
    this.#memberships = memberships;
    this.#find = connection.prepare(`SELECT ${COLUMNS} FROM users WHERE project_no = ? AND id = ?`);
    this.#insert = connection.prepare(`
      INSERT INTO users (project_no, id, name, short_name, email, profile_picture_url, status, metadata,
        created_at, updated_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    this.#update = connection.prepare(`
      UPDATE users SET name = ?, short_name = ?, email = ?, profile_picture_url = ?, status = ?, metadata = ?,
        updated_at = max(updated_at, ?), revision = ? WHERE user_no = ?`);
    this.#delete = connection.prepare('DELETE FROM users WHERE user_no = ?');
    this.#count = connection.prepare('UPDATE projects SET user_count = user_count + ? WHERE project_no = ?');
    this.#setPreferences = connection.prepare(`
      UPDATE users SET send_via_messenger = coalesce(?, send_via_messenger), send_via_email = coalesce(?, send_via_email)
      WHERE project_no = ? AND id = ?`);
  }

  put(project: ProjectKey, id: string, write: StoredUserWrite, context: WriteContext): PutUserOutcome {
    const { kind, card: _, ...rest } = this.apply(project, id, write, context);
    if (kind === 'exists' || kind === 'stale') return { kind };
    if (kind === 'created') this.countUsers(project, 1);
    return { kind, effects: { ...NO_EFFECTS, ...rest } };
  }

  /** {@link put} without counting the user in the project's total: a batch counts its users at once. */
  apply(project: ProjectKey, id: string, write: StoredUserWrite, context: WriteContext): AppliedUser {
    const row = this.#find.get(project, id);
    const before = row === undefined ? null : toUser(id, row);
    const failure = preconditionFailure(context, before?.revision ?? null);
    if (failure !== null) return failure;
    const after = merge(before, write);
    const { now, revision } = context;
    const values = MUTABLE.map((field) => after[field]);
    if (before === null) {
      const userNo = this.#insert.insert(project, id, ...values, now, now, revision);
      return { kind: 'created', card: { ...after, userNo } };
    }
    const card = { ...after, userNo: before.userNo };
    if (MUTABLE.every((field) => before[field] === after[field])) return { kind: 'unchanged', card };
    this.#update.run(...values, now, revision, before.userNo);
    if (before.name !== after.name || before.email !== after.email) this.#memberships.rename(id, card);
    if (before.status === after.status) return { kind: 'updated', card };
    return after.status === 'deleted'
      ? { kind: 'updated', card, deactivated: [id] }
      : { kind: 'updated', card, reactivated: [id] };
  }

  countUsers(project: ProjectKey, difference: number): void {
    if (difference !== 0) this.#count.run(difference, project);
  }

  delete(project: ProjectKey, id: string, context: WriteContext): DeleteOutcome {
    const row = this.#find.get(project, id);
    const user = row === undefined ? null : toUser(id, row);
    if (preconditionFailure(context, user?.revision ?? null) !== null) return { kind: 'stale' };
    if (user === null) return { kind: 'absent' };
    const groupIds = this.#memberships.removeUserEverywhere(user.userNo, id, context.revision);
    this.#delete.run(user.userNo);
    this.countUsers(project, -1);
    const departures: Departure[] = groupIds.map((groupId) => ({ groupId, userIds: [id] }));
    return { kind: 'deleted', effects: { ...NO_EFFECTS, departures } };
  }

  putPreferences(project: ProjectKey, id: string, channels: NotificationChannels): boolean {
    const bit = (flag: boolean | undefined) => (flag === undefined ? null : Number(flag));
    return (
      this.#setPreferences.run(bit(channels.sendViaMessenger), bit(channels.sendViaEmail), project, id) > 0
    );
  }
}

type AppliedUser =
  | { kind: 'exists' | 'stale'; card?: undefined }
  | {
      kind: 'created' | 'updated' | 'unchanged';
      card: UserCard;
      deactivated?: readonly string[];
      reactivated?: readonly string[];
    };
