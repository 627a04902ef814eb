import type { ProjectKey } from '../../../values/project-key.ts';
import { resourceChanges, userRemovalChanges } from '../../changes/changes.ts';
import { columnsOf } from '../../columns.ts';
import { type AlreadyExists, type Stale, UNCHANGED, type Written } from '../../outcomes.ts';
import type { StoredUserWrite, UserRecord, UserStore } from '../../ports/users.ts';
import { preconditionFailure } from '../../precondition.ts';
import { USER_COLUMNS, WRITTEN_FIELDS, type WrittenField } from '../../roster-columns.ts';
import type { ConditionalContext } from '../../write-context.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Reads, Write } from '../sqlite-methods.ts';
import { listedById, pagedList } from '../sqlite-pages.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import type { MembershipWrites, UserCard } from './sqlite-members.ts';

interface StoredUser extends UserRecord {
  readonly userNo: number;
}

const USER = columnsOf<StoredUser>({ ...USER_COLUMNS, userNo: 'user_no' });
const FIND = `SELECT ${USER.sql} FROM users WHERE project_no = ? AND id = ?`;

/** An SQL expression: milliseconds in `column` as the ISO 8601 text that answers have. */
const timestamp = (column: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`;

const LIST = {
  entry: `'{"id":' || json_quote(id) || ',"name":' || json_quote(name)
    || ',"short_name":' || json_quote(short_name) || ',"email":' || json_quote(email)
    || ',"profile_picture_url":' || json_quote(profile_picture_url)
    || ',"status":"' || status || '","metadata":' || metadata
    || ',"created_at":"' || ${timestamp('created_at')} || '","updated_at":"' || ${timestamp('updated_at')} || '"}'`,
  from: 'users',
  owner: 'project_no',
  id: 'id',
};

export function userReads({ prepare }: SqliteReader): Reads<'users'> {
  const find = prepare(FIND);
  const total = prepare<[number]>('SELECT user_count FROM projects WHERE project_no = ?');
  const page = pagedList(prepare, LIST);
  const byIds = listedById(prepare, LIST);
  return {
    find: async (project, id) => USER.toFound(find.get(project, id)),
    async list(project, request) {
      return { ...page(project, request), total: total.get(project)?.[0] ?? 0 };
    },
    listByIds: async (project, ids) => byIds(project, ids),
  };
}

/** The fields after a write: supplied ones replaced, the others as they were. */
function merge(before: UserRecord | null, write: StoredUserWrite): Pick<UserRecord, WrittenField> {
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

/** Writes of users, on the writer's thread. */
export class UserWrites {
  readonly #statements;
  readonly #memberships: MembershipWrites;

  constructor({ prepare }: SqliteConnection, memberships: MembershipWrites) {
    this.#memberships = memberships;
    this.#statements = {
      find: prepare(FIND),
      insert: prepare(`
        INSERT INTO users (project_no, id, name, short_name, email, profile_picture_url, status, metadata,
          created_at, updated_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
      update: prepare(`
        UPDATE users SET name = ?, short_name = ?, email = ?, profile_picture_url = ?, status = ?, metadata = ?,
          updated_at = max(updated_at, ?), revision = ? WHERE user_no = ?`),
      delete: prepare('DELETE FROM users WHERE user_no = ?'),
      count: prepare('UPDATE projects SET user_count = user_count + ? WHERE project_no = ?'),
    };
  }

  readonly put: Write<UserStore['put']> = (project, id, write, context) => {
    const applied = this.apply(project, id, write, context);
    if (!('card' in applied)) return applied;
    const { kind, changes } = applied;
    if (kind === 'created') this.countUsers(project, 1);
    return { kind, changes };
  };

  /** {@link put} without counting the user in the project's total: a batch counts its users at once. */
  apply(project: ProjectKey, id: string, write: StoredUserWrite, context: ConditionalContext): AppliedUser {
    const before = this.#find(project, id);
    const failure = preconditionFailure(context, before?.revision ?? null);
    if (failure !== null) return failure;
    const after = merge(before, write);
    const { now, revision } = context;
    const values = WRITTEN_FIELDS.map((field) => after[field]);
    if (before === null) {
      const userNo = this.#statements.insert.insert(project, id, ...values, now, now, revision);
      const changes = resourceChanges('user', id, null, after.status, []);
      return { kind: 'created', card: { ...after, userNo }, changes };
    }
    const card = { ...after, userNo: before.userNo };
    const changed = WRITTEN_FIELDS.filter((field) => before[field] !== after[field]);
    if (changed.length === 0) return { ...UNCHANGED, card };
    this.#statements.update.run(...values, now, revision, before.userNo);
    if (before.name !== after.name || before.email !== after.email) this.#memberships.rename(id, card);
    const fields = changed.filter((field) => field !== 'status').map((field) => USER_COLUMNS[field]);
    const changes = resourceChanges('user', id, before.status, after.status, fields);
    return { kind: 'updated', card, changes };
  }

  countUsers(project: ProjectKey, difference: number): void {
    if (difference !== 0) this.#statements.count.run(difference, project);
  }

  readonly delete: Write<UserStore['delete']> = (project, id, context) => {
    const user = this.#find(project, id);
    if (preconditionFailure(context, user?.revision ?? null) !== null) return { kind: 'stale' };
    if (user === null) return { kind: 'absent' };
    const groupIds = this.#memberships.removeUserEverywhere(user.userNo, id, context.revision);
    this.#statements.delete.run(user.userNo);
    this.countUsers(project, -1);
    return { kind: 'deleted', changes: userRemovalChanges(id, groupIds) };
  };

  #find(project: ProjectKey, id: string): StoredUser | null {
    return USER.toFound(this.#statements.find.get(project, id));
  }
}

type AppliedUser = AlreadyExists | Stale | (Written & { readonly card: UserCard });
