/** A project of the store under test, and how the contract suites write to it and read it back. */
import assert from 'node:assert/strict';
import type { GroupWrite, UserWrite } from '@rollcall/protocol';
import type { BatchOutcome } from '../../../src/store/ports/batches.ts';
import type { GroupRecord, StoredGroupWrite } from '../../../src/store/ports/groups.ts';
import type { UserRecord } from '../../../src/store/ports/users.ts';
import type { Precondition } from '../../../src/store/precondition.ts';
import type { Store } from '../../../src/store/store.ts';
import { toStored } from '../../../src/store/stored-write.ts';
import type { ConditionalContext } from '../../../src/store/write-context.ts';
import type { PageRequest } from '../../../src/values/page.ts';
import type { ProjectKey } from '../../../src/values/project-key.ts';
import { BY_TEST } from '../../support/origin.ts';
import { entriesOf, joined } from './entries.ts';

/** A start time; the writes of a project follow it at intervals of a second. */
export const START = Date.parse('2026-03-01T12:00:00.250Z');

let named = 0;

/** A text that no other test uses. */
export function unique(prefix: string): string {
  named += 1;
  return `${prefix}-${named}`;
}

/** The input of a batch: items to serialise, or its bytes. */
export type BatchItems = {
  readonly users?: unknown;
  readonly groups?: unknown;
  readonly [other: string]: unknown;
};

/** A project of the store under test: the port's writes with the context filled in, and its answers unpacked. */
export class Roster {
  readonly store: Store;
  readonly key: ProjectKey;
  #writes: number;

  /** `writes`: how many there were before, in the project that this one is a copy of. */
  constructor(store: Store, key: ProjectKey, writes = 0) {
    this.store = store;
    this.key = key;
    this.#writes = writes;
  }

  get writes(): number {
    return this.#writes;
  }

  /** The context of the next write: a second later, with a revision of its own. */
  next(condition: Precondition = {}): ConditionalContext {
    this.#writes += 1;
    return { ...condition, now: START + this.#writes * 1_000, revision: `r${this.#writes}`, ...BY_TEST };
  }

  /** The ID by which records of another store name the project. */
  async projectId(): Promise<string> {
    const project = (await this.store.projects.list(null)).find(({ key }) => key === this.key);
    assert.ok(project, 'the project exists');
    return project.id;
  }

  /** Makes active users, all at once. */
  async users(...ids: readonly string[]): Promise<void> {
    await this.applied({ users: ids.map((id) => ({ id })) });
  }

  /** Makes a group with these members, who become users where they are not. */
  async groupOf(id: string, ...members: readonly string[]): Promise<void> {
    await this.applied({ users: members.map((user) => ({ id: user })), groups: [{ id, name: id, members }] });
  }

  putGroup(
    id: string,
    write: Omit<GroupWrite, 'members'> & Pick<StoredGroupWrite, 'members'>,
    condition?: Precondition,
  ) {
    return this.store.groups.put(this.key, id, toStored(write), this.next(condition));
  }

  putUser(id: string, write: UserWrite, condition?: Precondition) {
    return this.store.users.put(this.key, id, toStored(write), this.next(condition));
  }

  changeMembers(
    id: string,
    change: { add?: readonly string[]; remove?: readonly string[] },
    condition?: Precondition,
  ) {
    const { add = [], remove = [] } = change;
    return this.store.members.change(this.key, id, { add, remove }, this.next(condition));
  }

  deleteGroup(id: string, condition?: Precondition) {
    return this.store.groups.delete(this.key, id, this.next(condition));
  }

  deleteUser(id: string, condition?: Precondition) {
    return this.store.users.delete(this.key, id, this.next(condition));
  }

  connectGroup(id: string, workspace: string | null) {
    return this.store.groups.connect(this.key, id, workspace, this.next());
  }

  batch(items: BatchItems | Uint8Array, dryRun = false): Promise<BatchOutcome> {
    const body = items instanceof Uint8Array ? items : Buffer.from(JSON.stringify(items));
    return this.store.batches.apply(this.key, { body, dryRun }, this.next());
  }

  /** A batch that must apply. */
  async applied(items: BatchItems): Promise<Extract<BatchOutcome, { kind: 'applied' }>> {
    const outcome = await this.batch(items);
    assert.ok(outcome.kind === 'applied', `the batch applies, not ${JSON.stringify(outcome)}`);
    return outcome;
  }

  async group(id: string): Promise<GroupRecord> {
    const group = await this.store.groups.find(this.key, id);
    assert.ok(group, `group ${id} exists`);
    return group;
  }

  async user(id: string): Promise<UserRecord> {
    const user = await this.store.users.find(this.key, id);
    assert.ok(user, `user ${id} exists`);
    return user;
  }

  async members(id: string): Promise<string[]> {
    return JSON.parse(await joined((await this.group(id)).members));
  }

  async groupRevision(id: string): Promise<string> {
    return (await this.group(id)).revision;
  }

  async userRevision(id: string): Promise<string> {
    return (await this.user(id)).revision;
  }

  listGroups = (page: PageRequest) => this.store.groups.list(this.key, page);
  listUsers = (page: PageRequest) => this.store.users.list(this.key, page);
  membersOf = (id: string) => async (page: PageRequest) =>
    present(await this.store.members.list(this.key, id, page));
  groupsOf = (id: string) => async (page: PageRequest) =>
    present(await this.store.members.listGroups(this.key, id, page));

  /** All that is read of the project, for comparing before and after. */
  async everything(): Promise<unknown> {
    const groups = await entriesOf(this.listGroups);
    const users = await entriesOf(this.listUsers);
    const details = groups.map(async ({ id }) => {
      const { members, ...rest } = await this.group(id);
      const presence = await this.store.durablePresence.list(this.key, id, null, {
        after: null,
        limit: 10_000,
      });
      return { ...rest, members: await joined(members), presence };
    });
    const preferences = users.map(({ id }) => this.store.preferences.find(this.key, id));
    return {
      groups,
      users,
      details: await Promise.all(details),
      preferences: await Promise.all(preferences),
    };
  }
}

function present<Value>(value: Value | null): Value {
  assert.ok(value !== null, 'the resource of the list exists');
  return value;
}

export async function newRoster(store: Store): Promise<Roster> {
  const customerId = unique('customer');
  await store.customers.create({ id: customerId, secret: 'customer secret', name: 'C', createdAt: START });
  const made = await store.projects.create({
    id: unique('project'),
    customerId,
    name: 'P',
    secret: 'project secret',
    createdAt: START,
  });
  assert.ok(made.kind === 'created');
  return new Roster(store, made.project.key);
}

/** Numbered IDs in ascending order. */
export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(6, '0')}`);
}

/** One of several independent writers of a project: every write has a new revision. */
export class View extends Roster {
  readonly #name = unique('view');

  override next(condition?: Precondition): ConditionalContext {
    const context = super.next(condition);
    return { ...context, revision: `${this.#name}, ${context.revision}` };
  }
}
