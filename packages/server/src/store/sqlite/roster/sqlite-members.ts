import type { ProjectKey } from '../../../values/project-key.ts';
import { membershipChanges } from '../../changes/changes.ts';
import { idSample, UNCHANGED } from '../../outcomes.ts';
import type { MemberStore } from '../../ports/members.ts';
import { preconditionFailure } from '../../precondition.ts';
import { type IdList, unpackIds } from '../../worker-threads/packed-ids.ts';
import type { DurablePresenceWrites } from '../presence/sqlite-durable-presence-writes.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Write } from '../sqlite-methods.ts';

/** A group as membership changes need it. */
interface GroupRef {
  readonly groupNo: number;
  readonly id: string;
}

/** A user as a membership shows them. */
export interface UserCard {
  readonly userNo: number;
  readonly name: string | null;
  readonly email: string | null;
}

/** Users by ID, each read once per write. Null where there is no such user. */
export type UserCards = (id: string) => UserCard | null;

type UserCardRow = [userNo: number, name: string | null, email: string | null];

/** Writes of memberships, on the writer's thread. Both tables of them change here and nowhere else. */
export class MembershipWrites {
  readonly #statements;
  readonly #presence: DurablePresenceWrites;

  constructor({ prepare }: SqliteConnection, presence: DurablePresenceWrites) {
    this.#presence = presence;
    this.#statements = {
      card: prepare<UserCardRow>('SELECT user_no, name, email FROM users WHERE project_no = ? AND id = ?'),
      group: prepare<[groupNo: number, memberCount: number, revision: string]>(
        'SELECT group_no, member_count, revision FROM groups WHERE project_no = ? AND id = ?',
      ),
      setCount: prepare('UPDATE groups SET member_count = ?, revision = ? WHERE group_no = ?'),
      members: prepare<[userId: string, userNo: number]>(
        'SELECT user_id, user_no FROM memberships WHERE group_no = ?',
      ),
      candidate: prepare<[...UserCardRow, isMember: number]>(`
        SELECT user_no, name, email, EXISTS (SELECT 1 FROM memberships WHERE group_no = ?3 AND user_id = ?2)
        FROM users WHERE project_no = ?1 AND id = ?2`),
      add: prepare(`
        INSERT INTO memberships (group_no, user_id, user_no, name, email, incarnation)
        VALUES (?, ?, ?, ?, ?, random() & 2147483647)`),
      addReverse: prepare('INSERT INTO user_groups (user_no, group_id, group_no) VALUES (?, ?, ?)'),
      remove: prepare<[userNo: number]>(
        'DELETE FROM memberships WHERE group_no = ? AND user_id = ? RETURNING user_no',
      ),
      removeReverse: prepare('DELETE FROM user_groups WHERE user_no = ? AND group_id = ?'),
      groupsOfUser: prepare<[groupId: string, groupNo: number]>(
        'SELECT group_id, group_no FROM user_groups WHERE user_no = ?',
      ),
      removeUser: prepare('DELETE FROM user_groups WHERE user_no = ?'),
      loseMember: prepare(
        'UPDATE groups SET member_count = member_count - 1, revision = ? WHERE group_no = ?',
      ),
      removeGroup: prepare('DELETE FROM memberships WHERE group_no = ?'),
      rename: prepare('UPDATE memberships SET name = ?, email = ? WHERE group_no = ? AND user_id = ?'),
    };
  }

  /** Reads users by ID, each once. `known` are users that this transaction has already read. */
  userCards(project: ProjectKey, known = new Map<string, UserCard | null>()): UserCards {
    return (id) => {
      let card = known.get(id);
      if (card === undefined) {
        const row = this.#statements.card.get(project, id);
        card = row === undefined ? null : toCard(row);
        known.set(id, card);
      }
      return card;
    };
  }

  readonly change: Write<MemberStore['change']> = (project, id, change, context) => {
    const row = this.#statements.group.get(project, id);
    if (row === undefined && context.ifMatch === undefined) return { kind: 'absent' };
    const { added, unknown } = this.#planAdditions(project, row?.[0] ?? null, change.add);
    if (unknown.length > 0) return { kind: 'unknownUsers', users: idSample(unknown) };
    if (row === undefined) return { kind: 'stale' };
    const [groupNo, count, revision] = row;
    const group = { groupNo, id };
    if (preconditionFailure(context, revision) !== null) return { kind: 'stale' };
    const removed = this.#removeAll(group, unpackIds(change.remove));
    if (added.size + removed.length === 0) return UNCHANGED;
    this.#addAll(group, added);
    this.#statements.setCount.run(count + added.size - removed.length, context.revision, groupNo);
    return { kind: 'updated', changes: membershipChanges(id, added.keys(), removed) };
  };

  /** How the group's members would become exactly `desired`, or which of those do not exist. Changes nothing. */
  planReplacement(group: GroupRef | null, desired: IdList, userCards: UserCards): Replacement {
    const members = group === null ? [] : this.#statements.members.all(group.groupNo);
    const removed = new Set(members.map(([id]) => id));
    const added = new Map<string, UserCard>();
    const unknown: string[] = [];
    const wanted = new Set(unpackIds(desired));
    for (const id of wanted) {
      if (removed.delete(id)) continue;
      const card = userCards(id);
      if (card === null) unknown.push(id);
      else added.set(id, card);
    }
    return { added, removed, unknown, count: wanted.size };
  }

  replace(group: GroupRef, replacement: Replacement): void {
    this.#removeAll(group, replacement.removed);
    this.#addAll(group, replacement.added);
  }

  /** Writes a user's new name and e-mail into the member lists. */
  rename(id: string, { userNo, name, email }: UserCard): void {
    const { groupsOfUser, rename } = this.#statements;
    for (const [, groupNo] of groupsOfUser.all(userNo)) rename.run(name, email, groupNo, id);
  }

  /** Removes a user's memberships and durable presence; the IDs of the groups they were in. */
  removeUserEverywhere(userNo: number, id: string, revision: string): string[] {
    const groups = this.#statements.groupsOfUser.all(userNo);
    for (const [, groupNo] of groups) {
      this.#statements.remove.run(groupNo, id);
      this.#presence.removeUser(groupNo, id);
      this.#statements.loseMember.run(revision, groupNo);
    }
    this.#statements.removeUser.run(userNo);
    return groups.map(([groupId]) => groupId);
  }

  /** Removes all memberships of a group; the IDs of its members. */
  removeGroupEverywhere(group: GroupRef): string[] {
    const members = this.#statements.members.all(group.groupNo);
    for (const [, userNo] of members) this.#statements.removeReverse.run(userNo, group.id);
    this.#statements.removeGroup.run(group.groupNo);
    return members.map(([userId]) => userId);
  }

  /** `groupNo` is null where there is no such group. */
  #planAdditions(
    project: ProjectKey,
    groupNo: number | null,
    ids: IdList,
  ): Pick<Replacement, 'added' | 'unknown'> {
    const added = new Map<string, UserCard>();
    const unknown: string[] = [];
    for (const id of new Set(unpackIds(ids))) {
      const row = this.#statements.candidate.get(project, id, groupNo);
      if (row === undefined) unknown.push(id);
      else if (row[3] === 0) added.set(id, toCard(row));
    }
    return { added, unknown };
  }

  /** The IDs of those who were members. */
  #removeAll(group: GroupRef, ids: Iterable<string>): string[] {
    const removed: string[] = [];
    for (const id of ids) {
      const row = this.#statements.remove.get(group.groupNo, id);
      if (row === undefined) continue;
      this.#statements.removeReverse.run(row[0], group.id);
      this.#presence.removeUser(group.groupNo, id);
      removed.push(id);
    }
    return removed;
  }

  #addAll(group: GroupRef, added: Map<string, UserCard>): void {
    for (const [id, { userNo, name, email }] of added) {
      this.#statements.add.run(group.groupNo, id, userNo, name, email);
      this.#statements.addReverse.run(userNo, group.id, group.groupNo);
    }
  }
}

const toCard = ([userNo, name, email]: readonly [...UserCardRow, ...unknown[]]): UserCard => ({
  userNo,
  name,
  email,
});

/** A change of a group's member list, computed before anything is written. */
interface Replacement {
  readonly added: Map<string, UserCard>;
  readonly removed: Set<string>;
  /** Those of the desired who do not exist. */
  readonly unknown: readonly string[];
  /** How many members the group then has. */
  readonly count: number;
}
