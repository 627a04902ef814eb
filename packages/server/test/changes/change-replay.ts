/** What the changes of a project add up to. */
import assert from 'node:assert/strict';
import type { RecordedChange, Status } from '@rollcall/protocol';

interface ReplayedGroup {
  status: Status;
  readonly members: Set<string>;
  /** Threads with their numbers of messages. */
  readonly threads: Map<string, number>;
}

/** A change as the API or the store has it. */
export type ReplayedChange = Pick<RecordedChange, 'type' | 'user' | 'group' | 'thread'> & {
  readonly users?: readonly string[] | undefined;
};

/** All users with their status, and all groups with what belongs to them. */
export interface ReplayedState {
  readonly users: ReadonlyMap<string, Status>;
  readonly groups: ReadonlyMap<string, Readonly<ReplayedGroup>>;
}

/**
 * Users, groups, memberships and threads by the changes alone. A change that does not fit the state before it throws: one that
 * was missed, came twice or stands in the wrong place is such.
 */
export class ChangeReplay {
  readonly #users = new Map<string, Status>();
  readonly #groups = new Map<string, ReplayedGroup>();

  get state(): ReplayedState {
    return { users: this.#users, groups: this.#groups };
  }

  apply(change: ReplayedChange): void {
    const [resource, event] = change.type.split('.') as [string, string];
    if (resource === 'user') this.#user(change.user as string, event, change);
    else if (resource === 'group') this.#group(change.group as string, event, change);
    else if (resource === 'member') this.#members(event, change);
    else if (resource === 'thread' || resource === 'message') this.#thread(`${resource}.${event}`, change);
  }

  #user(id: string, event: string, change: ReplayedChange): void {
    const status = this.#users.get(id);
    assert.equal(status !== undefined, event !== 'created', describe(change));
    if (event === 'created' || event === 'activated') this.#users.set(id, 'active');
    else if (event === 'deactivated') this.#users.set(id, 'deleted');
    else if (event === 'removed') this.#users.delete(id);
    if (event === 'activated' || event === 'deactivated')
      assert.notEqual(status, this.#users.get(id), describe(change));
    if (event === 'removed')
      for (const { members } of this.#groups.values()) assert.ok(!members.has(id), describe(change));
  }

  #group(id: string, event: string, change: ReplayedChange): void {
    const group = this.#groups.get(id);
    assert.equal(group !== undefined, event !== 'created', describe(change));
    if (group === undefined)
      this.#groups.set(id, { status: 'active', members: new Set(), threads: new Map() });
    else if (event === 'removed') {
      assert.equal(group.members.size, 0, describe(change));
      this.#groups.delete(id);
    } else if (event !== 'updated') {
      const status = event === 'activated' ? 'active' : 'deleted';
      assert.notEqual(group.status, status, describe(change));
      group.status = status;
    }
  }

  #members(event: string, change: ReplayedChange): void {
    const members = this.#groups.get(change.group as string)?.members;
    assert.ok(members !== undefined, describe(change));
    for (const user of change.users ?? []) {
      assert.ok(this.#users.has(user), describe(change));
      assert.equal(members.has(user), event === 'removed', `${user}: ${describe(change)}`);
      if (event === 'added') members.add(user);
      else members.delete(user);
    }
  }

  #thread(type: string, change: ReplayedChange): void {
    const thread = change.thread as string;
    const threads = this.#groups.get(change.group as string)?.threads;
    assert.equal(threads?.has(thread), type !== 'thread.created', describe(change));
    const messages = threads?.get(thread) ?? 0;
    if (type === 'thread.removed') threads?.delete(thread);
    else if (type === 'message.removed') threads?.set(thread, messages - 1);
    else threads?.set(thread, messages + (type === 'message.created' ? 1 : 0));
  }
}

const describe = (change: ReplayedChange) => JSON.stringify({ ...change, users: change.users?.length });
