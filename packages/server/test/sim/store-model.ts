/**
 * A naive Store in memory, which the simulation holds the engines against. It obeys the same contract suite as they
 * do (store-model.test.ts), so that a wrong judge is found out. It keeps nothing on disk: "durable" means that another
 * `StoreModel` of the same {@link ModelState} sees it.
 */
import {
  compareCodePoints,
  type GroupWrite,
  locationMatches,
  type NotificationChannels,
} from '@rollcall/protocol';
import { unpackIds } from '../../src/store/packed-ids.ts';
import * as port from '../../src/store/store.ts';
import { applyBatch } from './model-batch.ts';
import { carriedOf, carryIn } from './model-carry.ts';
import { addProject, ModelState } from './model-state.ts';
import * as model from './model-world.ts';
import { ascending, emptyWorld, type ModelUser, type World } from './model-world.ts';

export class StoreModel implements port.Store {
  readonly isInProcess = true;
  readonly #state: ModelState;

  constructor(state = new ModelState()) {
    this.#state = state;
  }

  /** A model of the same state that goes its own way. */
  copy(): StoreModel {
    return new StoreModel(structuredClone(this.#state));
  }

  async ping() {}

  async close() {}

  async createCustomer(customer: port.CustomerRecord) {
    if (this.#state.customers.has(customer.id)) return false;
    this.#state.customers.set(customer.id, { ...customer });
    return true;
  }

  async findCustomer(id: string) {
    return this.#state.customers.get(id) ?? null;
  }

  async listCustomers() {
    return [...this.#state.customers.values()].sort(byId);
  }

  async createProject(
    project: Pick<port.ProjectRecord, 'id' | 'customerId' | 'name' | 'secret' | 'createdAt'>,
  ): ReturnType<port.Store['createProject']> {
    if (!this.#state.customers.has(project.customerId)) return { kind: 'absent' };
    if (this.#records().some(({ id }) => id === project.id)) return { kind: 'exists' };
    const record = { ...project, previousSecret: null, previousValidUntil: null };
    return { kind: 'created', project: addProject(this.#state, record) };
  }

  async findProject(id: string) {
    return this.#records().find((record) => record.id === id) ?? null;
  }

  async listProjects(customerId: string | null) {
    return this.#records()
      .filter((record) => customerId === null || record.customerId === customerId)
      .sort(byId);
  }

  async renameProject(key: port.ProjectKey, name: string) {
    return this.#changeProject(key, () => ({ name }));
  }

  async rotateSecret(key: port.ProjectKey, secret: string, previousValidUntil: number) {
    return this.#changeProject(key, (before) => ({
      secret,
      previousSecret: before.secret,
      previousValidUntil,
    }));
  }

  async deleteProject(key: port.ProjectKey) {
    return this.#state.projects.delete(key);
  }

  async serviceKey() {
    return this.#state.serviceKey;
  }

  async createSession(session: { id: string; project: port.ProjectKey; expiresAt: number }) {
    this.#state.sessions.set(session.id, { ...session, revoked: false });
  }

  async findSession(id: string) {
    const session = this.#state.sessions.get(id);
    const project = session && this.#state.projects.get(session.project)?.record;
    return project === undefined || session === undefined ? null : { ...session, project };
  }

  async revokeSession(id: string) {
    const session = this.#state.sessions.get(id);
    if (session !== undefined) session.revoked = true;
  }

  async removeExpiredSessions(now: number) {
    for (const { id, expiresAt } of this.#state.sessions.values()) {
      if (expiresAt < now) this.#state.sessions.delete(id);
    }
  }

  async findGroup(key: port.ProjectKey, id: string) {
    const group = this.#read(key).groups.get(id);
    if (group === undefined) return null;
    const { workspace, members, incarnations: _incarnations, ...fields } = group;
    return {
      id,
      ...fields,
      connectedToMessenger: workspace !== null,
      members: JSON.stringify(ascending(members)),
    };
  }

  async groupExists(key: port.ProjectKey, id: string) {
    return this.#read(key).groups.has(id);
  }

  async listGroups(key: port.ProjectKey, request: port.PageRequest) {
    return this.#pageOfGroups(key, request);
  }

  async *listAllGroups(key: port.ProjectKey, { after, limit }: port.PageRequest) {
    const pages = [this.#pageOfGroups(key, { after, limit })];
    for (let last = pages[0]?.last; last != null; last = pages.at(-1)?.last)
      pages.push(this.#pageOfGroups(key, { after: last, limit }));
    yield* pages;
  }

  #pageOfGroups(key: port.ProjectKey, request: port.PageRequest): port.Page {
    const { groups } = this.#read(key);
    return pageOf(groups.keys(), request, (id) => {
      const { name, status, metadata, workspace } = groups.get(id) as model.ModelGroup;
      const rest = fields({ id, name, status, connectedToMessenger: workspace !== null });
      return `{${rest},"metadata":${metadata}}`;
    });
  }

  async putGroup(
    key: port.ProjectKey,
    id: string,
    { members, ...fields }: port.GroupChange,
    context: port.WriteContext,
  ) {
    const write: GroupWrite =
      members === undefined ? fields : { ...fields, members: [...unpackIds(members)] };
    return model.putGroup(this.#write(key), id, write, context);
  }

  async changeMembers(
    key: port.ProjectKey,
    id: string,
    { add, remove }: port.MembershipChange,
    context: port.WriteContext,
  ) {
    const change = { add: unpackIds(add), remove: unpackIds(remove) };
    return model.changeMembers(this.#write(key), id, change, context);
  }

  async listMembers(key: port.ProjectKey, id: string, request: port.PageRequest) {
    const { groups, users } = this.#read(key);
    const group = groups.get(id);
    if (group === undefined) return null;
    return totalPageOf([...group.members], request, (userId) => {
      const { name, email } = users.get(userId) as ModelUser;
      return `{${fields({ id: userId, name, email })}}`;
    });
  }

  async deleteGroup(key: port.ProjectKey, id: string, context: port.WriteContext) {
    return model.deleteGroup(this.#write(key), id, context);
  }

  async connectGroup(key: port.ProjectKey, id: string, workspace: string | null, context: port.WriteContext) {
    return model.connectGroup(this.#write(key), id, workspace, context);
  }

  async findUser(key: port.ProjectKey, id: string) {
    const user = this.#read(key).users.get(id);
    if (user === undefined) return null;
    const { channels: _, ...record } = user;
    return record;
  }

  async listUsers(key: port.ProjectKey, request: port.PageRequest) {
    const { users } = this.#read(key);
    return totalPageOf([...users.keys()], request, (id) => userEntry(users.get(id) as ModelUser));
  }

  async putUser(...[key, id, write, context]: Parameters<port.Store['putUser']>) {
    return model.putUser(this.#write(key), id, write, context);
  }

  async deleteUser(key: port.ProjectKey, id: string, context: port.WriteContext) {
    return model.deleteUser(this.#write(key), id, context);
  }

  async listUserGroups(key: port.ProjectKey, id: string, request: port.PageRequest) {
    const { groups, users } = this.#read(key);
    if (!users.has(id)) return null;
    const joined = [...groups].filter(([, group]) => group.members.has(id)).map(([groupId]) => groupId);
    return totalPageOf(joined, request, (groupId) => {
      const { name, status } = groups.get(groupId) as model.ModelGroup;
      return `{${fields({ id: groupId, name, status })}}`;
    });
  }

  async applyBatch(key: port.ProjectKey, batch: port.BatchRequest, context: port.WriteContext) {
    return applyBatch(this.#write(key), batch, context);
  }

  async findPreferences(key: port.ProjectKey, userId: string) {
    return this.#read(key).users.get(userId)?.channels ?? null;
  }

  async putPreferences(key: port.ProjectKey, userId: string, channels: NotificationChannels) {
    const user = this.#write(key).users.get(userId);
    if (user === undefined) return false;
    user.channels = { ...user.channels, ...channels };
    return true;
  }

  async standing(key: port.ProjectKey, groupId: string, userId: string) {
    return model.standing(this.#read(key), groupId, userId);
  }

  async standings(key: port.ProjectKey, asked: readonly port.StandingQuestion[]) {
    return asked.map(({ groupId, userId }) => model.standing(this.#read(key), groupId, userId));
  }

  async presentable(key: port.ProjectKey, groupId: string, userIds: readonly string[]) {
    const world = this.#read(key);
    const found = ascending(new Set(userIds)).filter((id) =>
      model.mayBePresent(model.standing(world, groupId, id)),
    );
    return new Map(
      found.map((id) => [id, model.standing(world, groupId, id).incarnation as port.Incarnation]),
    );
  }

  async putDurablePresence(
    key: port.ProjectKey,
    update: port.DurablePresenceUpdate,
    context: port.WriteContext,
  ) {
    return model.putDurablePresence(this.#write(key), update, context, this.#state.durableBounds);
  }

  async listDurablePresence(
    key: port.ProjectKey,
    groupId: string,
    filter: port.LocationFilter,
    { after, limit }: port.PageRequest,
  ) {
    const { presence, users } = this.#read(key);
    const passing = presence.filter((entry) => entry.groupId === groupId && passes(entry.location, filter));
    return ascending(new Set(passing.map(({ userId }) => userId)))
      .filter((id) => users.get(id)?.status === 'active' && isAfter(id, after))
      .slice(0, limit)
      .map((id) => latest(passing.filter(({ userId }) => userId === id)) as port.DurablePresence);
  }

  async findDurablePresence(key: port.ProjectKey, groupId: string, userId: string) {
    const { presence } = this.#read(key);
    return latest(presence.filter((entry) => entry.groupId === groupId && entry.userId === userId));
  }

  async *carryOut() {
    const records = carriedOf(structuredClone(this.#state));
    for (let start = 0; start < records.length; start += 1_000) yield records.slice(start, start + 1_000);
  }

  async carryIn(records: readonly port.CarriedRecord[], stamp: port.WriteStamp) {
    return carryIn(this.#state, records, stamp);
  }

  #records(): port.ProjectRecord[] {
    return [...this.#state.projects.values()].map(({ record }) => record);
  }

  #changeProject(
    key: port.ProjectKey,
    change: (before: port.ProjectRecord) => Partial<port.ProjectRecord>,
  ): boolean {
    const project = this.#state.projects.get(key);
    if (project === undefined) return false;
    project.record = { ...project.record, ...change(project.record) };
    return true;
  }

  #read(key: port.ProjectKey): World {
    return this.#state.projects.get(key)?.world ?? emptyWorld();
  }

  #write(key: port.ProjectKey): World {
    const project = this.#state.projects.get(key);
    if (project === undefined) throw new port.ProjectGoneError();
    return project.world;
  }
}

const byId = (a: { readonly id: string }, b: { readonly id: string }) => compareCodePoints(a.id, b.id);

const isAfter = (id: string, after: string | null) => after === null || compareCodePoints(id, after) > 0;

/** The fields of a JSON object, without its braces. */
const fields = (object: Record<string, unknown>) => JSON.stringify(object).slice(1, -1);

function userEntry({ id, name, shortName, email, profilePictureUrl, status, ...user }: ModelUser): port.Json {
  const texts = { id, name, short_name: shortName, email, profile_picture_url: profilePictureUrl, status };
  const times = {
    created_at: new Date(user.createdAt).toISOString(),
    updated_at: new Date(user.updatedAt).toISOString(),
  };
  return `{${fields(texts)},"metadata":${user.metadata},${fields(times)}}`;
}

function pageOf(
  ids: Iterable<string>,
  { after, limit }: port.PageRequest,
  entry: (id: string) => port.Json,
): port.Page {
  const rest = ascending(ids).filter((id) => isAfter(id, after));
  const taken = rest.slice(0, limit);
  const last = rest.length > taken.length ? (taken.at(-1) ?? null) : null;
  return { items: taken.map(entry).join(','), count: taken.length, last };
}

function totalPageOf(
  ids: readonly string[],
  request: port.PageRequest,
  entry: (id: string) => port.Json,
): port.TotalPage {
  return { ...pageOf(ids, request, entry), total: ids.length };
}

function passes(location: port.Json, filter: port.LocationFilter): boolean {
  if (filter === null || location === filter.location) return true;
  return filter.partial && locationMatches(JSON.parse(location), JSON.parse(filter.location));
}

/** The entry with the latest time. */
function latest(entries: readonly model.ModelPresence[]): port.DurablePresence | null {
  const [first, ...others] = entries;
  if (first === undefined) return null;
  const { userId, location, at } = others.reduce(
    (best, entry) => (entry.at >= best.at ? entry : best),
    first,
  );
  return { userId, location, at };
}
