/** A project of the store under test, and how the contract suites write to it and read it back. */
import assert from 'node:assert/strict';
import type {
  BatchOutcome,
  GroupRecord,
  PageRequest,
  Precondition,
  ProjectKey,
  Store,
  UserRecord,
  WriteContext,
} from '../../../src/store/store.ts';
import { entriesOf, joined } from './entries.ts';

/** A moment; what happens in a project happens a second apart after it. */
export const START = Date.parse('2026-03-01T12:00:00.250Z');

let named = 0;

/** A text that no other test uses. */
export function unique(prefix: string): string {
  named += 1;
  return `${prefix}-${named}`;
}

/** What a batch may be given as: items to serialise, or the bytes themselves. */
export type BatchItems = {
  readonly users?: unknown;
  readonly groups?: unknown;
  readonly [other: string]: unknown;
};

/** A project of the store under test: the port's writes with the context filled in, and its answers unpacked. */
export class Roster {
  readonly store: Store;
  readonly key: ProjectKey;
  #writes = 0;

  constructor(store: Store, key: ProjectKey) {
    this.store = store;
    this.key = key;
  }

  /** The context of the next write: a second later, with a revision of its own. */
  next(condition: Precondition = {}): WriteContext {
    this.#writes += 1;
    return { ...condition, now: START + this.#writes * 1_000, revision: `r${this.#writes}` };
  }

  /** The ID by which records of another store name the project. */
  async projectId(): Promise<string> {
    const project = (await this.store.listProjects(null)).find(({ key }) => key === this.key);
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

  putGroup(id: string, write: Parameters<Store['putGroup']>[2], condition?: Precondition) {
    return this.store.putGroup(this.key, id, write, this.next(condition));
  }

  putUser(id: string, write: Parameters<Store['putUser']>[2], condition?: Precondition) {
    return this.store.putUser(this.key, id, write, this.next(condition));
  }

  changeMembers(
    id: string,
    change: { add?: readonly string[]; remove?: readonly string[] },
    condition?: Precondition,
  ) {
    const { add = [], remove = [] } = change;
    return this.store.changeMembers(this.key, id, { add, remove }, this.next(condition));
  }

  deleteGroup(id: string, condition?: Precondition) {
    return this.store.deleteGroup(this.key, id, this.next(condition));
  }

  deleteUser(id: string, condition?: Precondition) {
    return this.store.deleteUser(this.key, id, this.next(condition));
  }

  connectGroup(id: string, workspace: string | null) {
    return this.store.connectGroup(this.key, id, workspace, this.next());
  }

  batch(items: BatchItems | Uint8Array, dryRun = false): Promise<BatchOutcome> {
    const body = items instanceof Uint8Array ? items : Buffer.from(JSON.stringify(items));
    return this.store.applyBatch(this.key, { body, dryRun }, this.next());
  }

  /** A batch that must apply. */
  async applied(items: BatchItems): Promise<Extract<BatchOutcome, { kind: 'applied' }>> {
    const outcome = await this.batch(items);
    assert.ok(outcome.kind === 'applied', `the batch applies, not ${JSON.stringify(outcome)}`);
    return outcome;
  }

  async group(id: string): Promise<GroupRecord> {
    const group = await this.store.findGroup(this.key, id);
    assert.ok(group, `group ${id} exists`);
    return group;
  }

  async user(id: string): Promise<UserRecord> {
    const user = await this.store.findUser(this.key, id);
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

  listGroups = (page: PageRequest) => this.store.listGroups(this.key, page);
  listUsers = (page: PageRequest) => this.store.listUsers(this.key, page);
  membersOf = (id: string) => async (page: PageRequest) =>
    present(await this.store.listMembers(this.key, id, page));
  groupsOf = (id: string) => async (page: PageRequest) =>
    present(await this.store.listUserGroups(this.key, id, page));

  /** All that is read of the project, for comparing before and after. */
  async everything(): Promise<unknown> {
    const groups = await entriesOf(this.listGroups);
    const users = await entriesOf(this.listUsers);
    const details = groups.map(async ({ id }) => {
      const { members, ...rest } = await this.group(id);
      const presence = await this.store.listDurablePresence(this.key, id, null, {
        after: null,
        limit: 10_000,
      });
      return { ...rest, members: await joined(members), presence };
    });
    const preferences = users.map(({ id }) => this.store.findPreferences(this.key, id));
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
  await store.createCustomer({ id: customerId, secret: 'customer secret', name: 'C', createdAt: START });
  const made = await store.createProject({
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

/** One of several views of a project, whose writers know nothing of each other: revisions are new for every write. */
export class View extends Roster {
  readonly #name = unique('view');

  override next(condition?: Precondition): WriteContext {
    const context = super.next(condition);
    return { ...context, revision: `${this.#name}, ${context.revision}` };
  }
}
