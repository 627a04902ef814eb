import { departed, NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import { type IdList, unpackIds } from '../packed-ids.ts';
import type { ChangeMembersOutcome, MembershipChange, ProjectKey, WriteContext } from '../store.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import { IdCollector } from './sqlite-id-collector.ts';
import type { PresenceWrites } from './sqlite-presence-writes.ts';

/** A group as membership changes need it. */
export interface GroupRef {
  readonly groupNo: number;
  readonly id: string;
}

/** A user as a membership shows them. */
export interface UserCard {
  readonly userNo: number;
  readonly name: string | null;
  readonly email: string | null;
}

/** Users by ID, each looked up once per write. Null where there is no such user. */
export type UserCards = (id: string) => UserCard | null;

/** Writes of memberships, on the writer's thread. Both tables of them change here and nowhere else. */
export class MembershipWrites {
  readonly #card;
  readonly #group;
  readonly #setCount;
  readonly #members;
  readonly #isMember;
  readonly #add;
  readonly #addReverse;
  readonly #remove;
  readonly #removeReverse;
  readonly #groupsOfUser;
  readonly #removeUser;
  readonly #loseMember;
  readonly #removeGroup;
  readonly #rename;
  readonly #presence: PresenceWrites;

  constructor(connection: SqliteConnection, presence: PresenceWrites) {
    this.#presence = presence;
    const prepare = (sql: string) => connection.prepare(sql);
    this.#card = prepare('SELECT user_no, name, email FROM users WHERE project_no = ? AND id = ?');
    this.#group = prepare(
      'SELECT group_no, member_count, revision FROM groups WHERE project_no = ? AND id = ?',
    );
    this.#setCount = prepare('UPDATE groups SET member_count = ?, revision = ? WHERE group_no = ?');
    this.#members = prepare('SELECT user_id, user_no FROM memberships WHERE group_no = ?');
    this.#isMember = prepare('SELECT user_no FROM memberships WHERE group_no = ? AND user_id = ?');
    this.#add = prepare(
      `INSERT INTO memberships (group_no, user_id, user_no, name, email, incarnation)
        VALUES (?, ?, ?, ?, ?, random() & 2147483647)`,
    );
    this.#addReverse = prepare('INSERT INTO user_groups (user_no, group_id, group_no) VALUES (?, ?, ?)');
    this.#remove = prepare('DELETE FROM memberships WHERE group_no = ? AND user_id = ?');
    this.#removeReverse = prepare('DELETE FROM user_groups WHERE user_no = ? AND group_id = ?');
    this.#groupsOfUser = prepare('SELECT group_id, group_no FROM user_groups WHERE user_no = ?');
    this.#removeUser = prepare('DELETE FROM user_groups WHERE user_no = ?');
    this.#loseMember = prepare(
      'UPDATE groups SET member_count = member_count - 1, revision = ? WHERE group_no = ?',
    );
    this.#removeGroup = prepare('DELETE FROM memberships WHERE group_no = ?');
    this.#rename = prepare('UPDATE memberships SET name = ?, email = ? WHERE group_no = ? AND user_id = ?');
  }

  /** Looks users up by ID, each once. `known` are users that this transaction has already seen. */
  userCards(project: ProjectKey, known = new Map<string, UserCard | null>()): UserCards {
    return (id) => {
      let card = known.get(id);
      if (card === undefined) {
        card = toCard(this.#card.get(project, id));
        known.set(id, card);
      }
      return card;
    };
  }

  change(
    project: ProjectKey,
    id: string,
    change: MembershipChange,
    context: WriteContext,
  ): ChangeMembersOutcome {
    const row = this.#group.get(project, id);
    if (row === undefined) return context.ifMatch === undefined ? { kind: 'absent' } : { kind: 'stale' };
    const [groupNo, count, revision] = row as [number, number, string];
    const group = { groupNo, id };
    const added = this.#resolveNew(group, change.add, this.userCards(project));
    if ('unknown' in added) return { kind: 'unknownUsers', users: added.unknown.sample() };
    if (preconditionFailure(context, revision) !== null) return { kind: 'stale' };
    const removed = this.#findMembers(group, change.remove);
    if (added.size + removed.size === 0) return { kind: 'unchanged', effects: NO_EFFECTS };
    this.#apply(group, added, removed);
    this.#setCount.run(count + added.size - removed.size, context.revision, groupNo);
    return { kind: 'updated', effects: departed(id, [...removed.keys()]) };
  }

  /** How the group's members would become exactly `desired`, or which of those do not exist. Changes nothing. */
  planReplacement(group: GroupRef | null, desired: IdList, userCards: UserCards): Replacement {
    const current = new Map(group === null ? [] : (this.#members.all(group.groupNo) as [string, number][]));
    const added = new Map<string, UserCard>();
    const unknown = new IdCollector();
    const wanted = new Set(unpackIds(desired));
    for (const id of wanted) {
      if (current.delete(id)) continue;
      const card = userCards(id);
      if (card === null) unknown.add(id);
      else added.set(id, card);
    }
    return { added, removed: current, unknown, count: wanted.size };
  }

  replace(group: GroupRef, replacement: Replacement): void {
    this.#apply(group, replacement.added, replacement.removed);
  }

  /** Keeps what member lists show of a user as the user is. */
  rename(id: string, { userNo, name, email }: UserCard): void {
    for (const [, groupNo = 0] of this.#groupsOfUser.all(userNo)) this.#rename.run(name, email, groupNo, id);
  }

  /** Removes a user's memberships and durable presence; the IDs of the groups they were in. */
  removeUserEverywhere(userNo: number, id: string, revision: string): string[] {
    const groups = this.#groupsOfUser.all(userNo) as [string, number][];
    for (const [, groupNo] of groups) {
      this.#remove.run(groupNo, id);
      this.#presence.removeUser(groupNo, id);
      this.#loseMember.run(revision, groupNo);
    }
    this.#removeUser.run(userNo);
    return groups.map(([groupId]) => groupId);
  }

  /** Removes all memberships and durable presence of a group; the IDs of its members. */
  removeGroupEverywhere(group: GroupRef): string[] {
    const members = this.#members.all(group.groupNo) as [string, number][];
    for (const [, userNo] of members) this.#removeReverse.run(userNo, group.id);
    this.#removeGroup.run(group.groupNo);
    this.#presence.removeGroup(group.groupNo);
    return members.map(([userId]) => userId);
  }

  #resolveNew(group: GroupRef, ids: IdList, userCards: UserCards) {
    const added = new Map<string, UserCard>();
    const unknown = new IdCollector();
    for (const id of new Set(unpackIds(ids))) {
      if (this.#isMember.get(group.groupNo, id) !== undefined) continue;
      const card = userCards(id);
      if (card === null) unknown.add(id);
      else added.set(id, card);
    }
    return unknown.count > 0 ? { unknown } : added;
  }

  #findMembers(group: GroupRef, ids: IdList): Map<string, number> {
    const found = new Map<string, number>();
    for (const id of unpackIds(ids)) {
      const row = this.#isMember.get(group.groupNo, id);
      if (row !== undefined) found.set(id, row[0] as number);
    }
    return found;
  }

  #apply(group: GroupRef, added: Map<string, UserCard>, removed: Map<string, number>): void {
    for (const [id, userNo] of removed) {
      this.#remove.run(group.groupNo, id);
      this.#removeReverse.run(userNo, group.id);
      this.#presence.removeUser(group.groupNo, id);
    }
    for (const [id, { userNo, name, email }] of added) {
      this.#add.run(group.groupNo, id, userNo, name, email);
      this.#addReverse.run(userNo, group.id, group.groupNo);
    }
  }
}

function toCard(row: Row | undefined): UserCard | null {
  if (row === undefined) return null;
  const [userNo, name, email] = row as [number, string | null, string | null];
  return { userNo, name, email };
}

/** A change of a group's member list, worked out before anything is written. */
export interface Replacement {
  readonly added: Map<string, UserCard>;
  readonly removed: Map<string, number>;
  readonly unknown: IdCollector;
  /** How many members the group then has. */
  readonly count: number;
}
