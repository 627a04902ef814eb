/**
 * A naive Store in memory, which the simulation holds the engines against. It obeys the same contract suite as they
 * do (store-model.test.ts), so that a wrong judge is found out. It keeps nothing on disk: "durable" means that another
 * `StoreModel` of the same {@link ModelState} sees it.
 */
import { compareCodePoints, type GroupWrite, locationMatches } from '@rollcall/protocol';
import type { Change } from '../../src/store/changes.ts';
import { type Absent, UNCHANGED, type Updated } from '../../src/store/outcomes.ts';
import { unpackIds } from '../../src/store/packed-ids.ts';
import type { BatchRequest, BatchStore } from '../../src/store/ports/batches.ts';
import type { ChangeStore } from '../../src/store/ports/changes.ts';
import type { ConversationFeedStore } from '../../src/store/ports/conversation-feed.ts';
import type {
  DurablePresence,
  DurablePresenceStore,
  DurablePresenceUpdate,
} from '../../src/store/ports/durable-presence.ts';
import {
  type EligibilityQuery,
  type EligibilityStore,
  isEligible,
} from '../../src/store/ports/eligibility.ts';
import type { GroupStore, StoredGroupWrite } from '../../src/store/ports/groups.ts';
import type { MemberStore, MembershipChange } from '../../src/store/ports/members.ts';
import type { MessageStore } from '../../src/store/ports/messages.ts';
import type { PreferenceStore } from '../../src/store/ports/preferences.ts';
import type {
  CustomerRecord,
  CustomerStore,
  ProjectRecord,
  ProjectStore,
} from '../../src/store/ports/projects.ts';
import type { SessionStore } from '../../src/store/ports/sessions.ts';
import type { ThreadStore } from '../../src/store/ports/threads.ts';
import type { TransferStore } from '../../src/store/ports/transfer.ts';
import type { UserStore } from '../../src/store/ports/users.ts';
import type { Store } from '../../src/store/store.ts';
import type { Stored } from '../../src/store/stored-write.ts';
import type { ConditionalContext, WriteContext } from '../../src/store/write-context.ts';
import { ProjectGoneError } from '../../src/values/engine-errors.ts';
import type { Incarnation } from '../../src/values/incarnation.ts';
import type { Json } from '../../src/values/json.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import type { Page, PageRequest, TotalPage } from '../../src/values/page.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { applyBatch } from './model-batch.ts';
import * as conversation from './model-conversation.ts';
import { addProject, ModelState } from './model-state.ts';
import { exportedOf, importInto } from './model-transfer.ts';
import * as model from './model-world.ts';
import { ascending, emptyWorld, type ModelUser, type World } from './model-world.ts';

export class StoreModel implements Store {
  readonly isInProcess = true;
  /** The model has no streams. */
  readonly conversationFeed = {} as ConversationFeedStore;
  readonly #state: ModelState;

  readonly customers: CustomerStore = {
    create: async (customer: CustomerRecord) => {
      if (this.#state.customers.has(customer.id)) return false;
      this.#state.customers.set(customer.id, { ...customer });
      return true;
    },
    find: async (id: string) => {
      return this.#state.customers.get(id) ?? null;
    },
    list: async () => {
      return [...this.#state.customers.values()].sort(byId);
    },
  };

  readonly projects: ProjectStore = {
    create: async (
      project: Pick<ProjectRecord, 'id' | 'customerId' | 'name' | 'secret' | 'createdAt'>,
    ): ReturnType<ProjectStore['create']> => {
      if (!this.#state.customers.has(project.customerId)) return { kind: 'absent' };
      if (this.#records().some(({ id }) => id === project.id)) return { kind: 'exists' };
      const record = { ...project, previousSecret: null, previousValidUntil: null };
      return { kind: 'created', project: addProject(this.#state, record) };
    },
    find: async (id: string) => {
      return this.#records().find((record) => record.id === id) ?? null;
    },
    list: async (customerId: string | null) => {
      return this.#records()
        .filter((record) => customerId === null || record.customerId === customerId)
        .sort(byId);
    },
    rename: async (key, name, context) => {
      const before = this.#state.projects.get(key)?.record;
      if (before?.name === name) return UNCHANGED;
      return this.#changeProject(key, () => ({ name }), 'project.renamed', context);
    },
    rotateSecret: async (key, { secret, previousValidUntil }, context) => {
      const change = (before: ProjectRecord) => ({
        secret,
        previousSecret: before.secret,
        previousValidUntil,
      });
      return this.#changeProject(key, change, 'project.secret_rotated', context);
    },
    delete: async (key: ProjectKey) => {
      return this.#state.projects.delete(key);
    },
  };

  readonly sessions: SessionStore = {
    serviceKey: async () => {
      return this.#state.serviceKey;
    },
    create: async (project, session, context) => {
      if (!this.#state.projects.has(project)) return { kind: 'absent' };
      this.#state.sessions.set(session.id, { ...session, project, revoked: false });
      const changes = [{ type: 'access_token.issued' } as const];
      return this.#recorded(project, { kind: 'created', changes }, context);
    },
    find: async (id: string) => {
      const session = this.#state.sessions.get(id);
      const project = session && this.#state.projects.get(session.project)?.record;
      return project === undefined || session === undefined ? null : { ...session, project };
    },
    revoke: async (project, id, context) => {
      const session = this.#state.sessions.get(id);
      if (session?.project !== project || session.revoked) return UNCHANGED;
      session.revoked = true;
      const changes = [{ type: 'access_token.revoked' } as const];
      return this.#recorded(project, { kind: 'updated', changes }, context);
    },
    removeExpired: async (now: number) => {
      for (const { id, expiresAt } of this.#state.sessions.values()) {
        if (expiresAt < now) this.#state.sessions.delete(id);
      }
    },
  };

  readonly groups: GroupStore = {
    find: async (key: ProjectKey, id: string) => {
      const group = this.#read(key).groups.get(id);
      if (group === undefined) return null;
      const { workspace, members, incarnations: _incarnations, ...fields } = group;
      return {
        id,
        ...fields,
        connectedToMessenger: workspace !== null,
        members: JSON.stringify(ascending(members)),
      };
    },
    exists: async (key: ProjectKey, id: string) => {
      return this.#read(key).groups.has(id);
    },
    listByIds: async (key: ProjectKey, ids: readonly string[]) => {
      const { groups } = this.#read(key);
      return this.#pageOfGroups(key, WHOLE, new Set(ids).intersection(groups));
    },
    list: async (key: ProjectKey, request: PageRequest) => {
      return this.#pageOfGroups(key, request);
    },
    listAll: (key, request) => this.#allGroups(key, request),
    put: async (
      key: ProjectKey,
      id: string,
      { members, ...fields }: StoredGroupWrite,
      context: ConditionalContext,
    ) => {
      const write: Stored<GroupWrite> =
        members === undefined ? fields : { ...fields, members: [...unpackIds(members)] };
      return this.#recorded(key, model.putGroup(this.#write(key), id, write, context), context);
    },
    delete: async (key: ProjectKey, id: string, context: ConditionalContext) => {
      return this.#recorded(key, model.deleteGroup(this.#write(key), id, context), context);
    },
    connect: async (key: ProjectKey, id: string, workspace: string | null, context: ConditionalContext) => {
      return this.#recorded(key, model.connectGroup(this.#write(key), id, workspace, context), context);
    },
  };

  readonly members: MemberStore = {
    change: async (
      key: ProjectKey,
      id: string,
      { add, remove }: MembershipChange,
      context: ConditionalContext,
    ) => {
      const change = { add: unpackIds(add), remove: unpackIds(remove) };
      return this.#recorded(key, model.changeMembers(this.#write(key), id, change, context), context);
    },
    list: async (key: ProjectKey, id: string, request: PageRequest) => {
      const { groups, users } = this.#read(key);
      const group = groups.get(id);
      if (group === undefined) return null;
      return totalPageOf([...group.members], request, (userId) => {
        const { name, email } = users.get(userId) as ModelUser;
        return `{${fields({ id: userId, name, email })}}`;
      });
    },
    listGroups: async (key: ProjectKey, id: string, request: PageRequest) => {
      const { groups, users } = this.#read(key);
      if (!users.has(id)) return null;
      const joined = [...groups].filter(([, group]) => group.members.has(id)).map(([groupId]) => groupId);
      return totalPageOf(joined, request, (groupId) => {
        const { name, status } = groups.get(groupId) as model.ModelGroup;
        return `{${fields({ id: groupId, name, status })}}`;
      });
    },
  };

  readonly users: UserStore = {
    find: async (key: ProjectKey, id: string) => {
      const user = this.#read(key).users.get(id);
      if (user === undefined) return null;
      const { channels: _, ...record } = user;
      return record;
    },
    list: async (key: ProjectKey, request: PageRequest) => {
      const { users } = this.#read(key);
      return totalPageOf([...users.keys()], request, (id) => userEntry(users.get(id) as ModelUser));
    },
    listByIds: async (key: ProjectKey, ids: readonly string[]) => {
      const { users } = this.#read(key);
      return pageOf(new Set(ids).intersection(users), WHOLE, (id) => userEntry(users.get(id) as ModelUser));
    },
    put: async (...[key, id, write, context]: Parameters<UserStore['put']>) => {
      return this.#recorded(key, model.putUser(this.#write(key), id, write, context), context);
    },
    delete: async (key: ProjectKey, id: string, context: ConditionalContext) => {
      return this.#recorded(key, model.deleteUser(this.#write(key), id, context), context);
    },
  };

  readonly preferences: PreferenceStore = {
    find: async (key: ProjectKey, userId: string) => {
      return this.#read(key).users.get(userId)?.channels ?? null;
    },
    put: async (key, userId, channels, context) => {
      const user = this.#write(key).users.get(userId);
      if (user === undefined) return { kind: 'absent' };
      const before = user.channels;
      user.channels = { ...before, ...channels };
      if (JSON.stringify(before) === JSON.stringify(user.channels)) return UNCHANGED;
      const change = {
        type: 'preferences.updated',
        user: userId,
        fields: ['notification_channels'],
      } as const;
      return this.#recorded(key, { kind: 'updated', changes: [change] }, context);
    },
  };

  readonly eligibility: EligibilityStore = {
    find: async (key: ProjectKey, groupId: string, userId: string) => {
      return model.eligibilityOf(this.#read(key), groupId, userId);
    },
    findMany: async (key: ProjectKey, asked: readonly EligibilityQuery[]) => {
      return asked.map(({ groupId, userId }) => model.eligibilityOf(this.#read(key), groupId, userId));
    },
    filter: async (key: ProjectKey, groupId: string, userIds: readonly string[]) => {
      const world = this.#read(key);
      const found = ascending(new Set(userIds)).filter((id) =>
        isEligible(model.eligibilityOf(world, groupId, id)),
      );
      return new Map(
        found.map((id) => [id, model.eligibilityOf(world, groupId, id).incarnation as Incarnation]),
      );
    },
  };

  readonly durablePresence: DurablePresenceStore = {
    put: async (key: ProjectKey, update: DurablePresenceUpdate, context: ConditionalContext) => {
      return this.#recorded(
        key,
        model.putDurablePresence(this.#write(key), update, context, this.#state.durableBounds),
        context,
      );
    },
    list: async (key: ProjectKey, groupId: string, filter: LocationFilter, { after, limit }: PageRequest) => {
      const { presence, users } = this.#read(key);
      const passing = presence.filter((entry) => entry.groupId === groupId && passes(entry.location, filter));
      return ascending(new Set(passing.map(({ userId }) => userId)))
        .filter((id) => users.get(id)?.status === 'active' && isAfter(id, after))
        .slice(0, limit)
        .map((id) => latest(passing.filter(({ userId }) => userId === id)) as DurablePresence);
    },
    find: async (key: ProjectKey, groupId: string, userId: string) => {
      const { presence } = this.#read(key);
      return latest(presence.filter((entry) => entry.groupId === groupId && entry.userId === userId));
    },
  };

  readonly batches: BatchStore = {
    apply: async (key: ProjectKey, batch: BatchRequest, context: ConditionalContext) => {
      return this.#recorded(key, applyBatch(this.#write(key), batch, context), context);
    },
  };

  readonly threads: ThreadStore = {
    find: async (key, id, viewer) => structuredClone(conversation.findThread(this.#read(key), id, viewer)),
    list: async (key, request) => structuredClone(conversation.listThreads(this.#read(key), request)),
    put: async (key, id, write, context) =>
      this.#recorded(key, conversation.putThread(this.#write(key), id, write, context), context),
    delete: async (key, id, context) =>
      this.#recorded(key, conversation.deleteThread(this.#write(key), id, context), context),
    markSeen: async (key, id, userId, messageId, context) =>
      conversation.markSeen(this.#write(key), id, userId, messageId, context),
  };

  readonly messages: MessageStore = {
    find: async (key, threadId, id) =>
      structuredClone(conversation.findMessage(this.#read(key), threadId, id)),
    list: async (key, threadId, request) =>
      structuredClone(conversation.listMessages(this.#read(key), threadId, request)),
    put: async (key, threadId, id, write, context) =>
      this.#recorded(key, conversation.putMessage(this.#write(key), threadId, id, write, context), context),
    append: async (key, threadId, id, append, context) =>
      this.#recorded(key, conversation.appendText(this.#write(key), threadId, id, append, context), context),
    delete: async (key, threadId, id, context) =>
      this.#recorded(key, conversation.deleteMessage(this.#write(key), threadId, id, context), context),
  };

  readonly changes: ChangeStore = {
    read: async (key, after, limit) => {
      const records = this.#state.projects.get(key)?.records ?? [];
      const newest = records.at(-1)?.position ?? 0;
      const removedTo = (records[0]?.position ?? 1) - 1;
      const later = records.filter(({ position }) => position > after).slice(0, limit);
      return { epoch: `${key}`, newest, removedTo, records: later };
    },
    order: async (written) => {
      const newestOf = (key: ProjectKey) => this.#state.projects.get(key)?.records.at(-1)?.position ?? 0;
      return { newest: [...written].map((key) => [key, newestOf(key)] as const), hasMore: false };
    },
    removeBefore: async (time) => {
      for (const { records } of this.#state.projects.values()) {
        while (records.length > 1 && (records[0]?.at ?? time) < time) records.shift();
      }
      return false;
    },
  };

  readonly transfer: TransferStore = {
    export: () => exportedOf(structuredClone(this.#state)),
    import: (batches) => importInto(this.#state, batches),
  };

  constructor(state = new ModelState()) {
    this.#state = state;
  }

  /** A model of the same state that goes its own way. */
  copy(): StoreModel {
    return new StoreModel(structuredClone(this.#state));
  }

  async ping() {}

  async close() {}

  async *#allGroups(key: ProjectKey, { after, limit }: PageRequest) {
    const pages = [this.#pageOfGroups(key, { after, limit })];
    for (let last = pages[0]?.last; last != null; last = pages.at(-1)?.last)
      pages.push(this.#pageOfGroups(key, { after: last, limit }));
    yield* pages;
  }

  #pageOfGroups(
    key: ProjectKey,
    request: PageRequest,
    ids: Iterable<string> = this.#read(key).groups.keys(),
  ): Page {
    const { groups } = this.#read(key);
    return pageOf(ids, request, (id) => {
      const { name, status, metadata, workspace } = groups.get(id) as model.ModelGroup;
      const rest = fields({ id, name, status, connectedToMessenger: workspace !== null });
      return `{${rest},"metadata":${metadata}}`;
    });
  }

  #records(): ProjectRecord[] {
    return [...this.#state.projects.values()].map(({ record }) => record);
  }

  #changeProject(
    key: ProjectKey,
    change: (before: ProjectRecord) => Partial<ProjectRecord>,
    type: 'project.renamed' | 'project.secret_rotated',
    context: WriteContext,
  ): Updated | Absent {
    const project = this.#state.projects.get(key);
    if (project === undefined) return { kind: 'absent' };
    project.record = { ...project.record, ...change(project.record) };
    return this.#recorded(key, { kind: 'updated', changes: [{ type }] }, context);
  }

  #recorded<Outcome extends object>(key: ProjectKey, outcome: Outcome, context: WriteContext): Outcome {
    const { changes = [] } = outcome as { readonly changes?: readonly Change[] };
    const records = this.#state.projects.get(key)?.records;
    const { now, actor, requestId } = context;
    if (changes.length > 0 && records !== undefined) {
      const position = (records.at(-1)?.position ?? 0) + 1;
      const unpacked = changes.map((change) =>
        'users' in change ? { ...change, users: unpackIds(change.users) } : change,
      );
      records.push({ position, at: now, actor, requestId, changes: unpacked });
    }
    return outcome;
  }

  #read(key: ProjectKey): World {
    return this.#state.projects.get(key)?.world ?? emptyWorld();
  }

  #write(key: ProjectKey): World {
    const project = this.#state.projects.get(key);
    if (project === undefined) throw new ProjectGoneError();
    return project.world;
  }
}

const WHOLE: PageRequest = { after: null, limit: Number.POSITIVE_INFINITY };

const byId = (a: { readonly id: string }, b: { readonly id: string }) => compareCodePoints(a.id, b.id);

const isAfter = (id: string, after: string | null) => after === null || compareCodePoints(id, after) > 0;

/** The fields of a JSON object, without its braces. */
const fields = (object: Record<string, unknown>) => JSON.stringify(object).slice(1, -1);

function userEntry({ id, name, shortName, email, profilePictureUrl, status, ...user }: ModelUser): Json {
  const texts = { id, name, short_name: shortName, email, profile_picture_url: profilePictureUrl, status };
  const times = {
    created_at: new Date(user.createdAt).toISOString(),
    updated_at: new Date(user.updatedAt).toISOString(),
  };
  return `{${fields(texts)},"metadata":${user.metadata},${fields(times)}}`;
}

function pageOf(ids: Iterable<string>, { after, limit }: PageRequest, entry: (id: string) => Json): Page {
  const rest = ascending(ids).filter((id) => isAfter(id, after));
  const taken = rest.slice(0, limit);
  const last = rest.length > taken.length ? (taken.at(-1) ?? null) : null;
  return { items: taken.map(entry).join(','), count: taken.length, last };
}

function totalPageOf(ids: readonly string[], request: PageRequest, entry: (id: string) => Json): TotalPage {
  return { ...pageOf(ids, request, entry), total: ids.length };
}

function passes(location: Json, filter: LocationFilter): boolean {
  if (filter === null || location === filter.location) return true;
  return filter.partial && locationMatches(JSON.parse(location), JSON.parse(filter.location));
}

/** The entry with the latest time. */
function latest(entries: readonly model.ModelPresence[]): DurablePresence | null {
  const [first, ...others] = entries;
  if (first === undefined) return null;
  const { userId, location, at } = others.reduce(
    (best, entry) => (entry.at >= best.at ? entry : best),
    first,
  );
  return { userId, location, at };
}
