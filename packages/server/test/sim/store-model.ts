/**
 * A naive Store in memory, with which the simulation compares the engines. It passes the same contract suite
 * (store-model.test.ts), so an error of the model is found. It stores nothing on disk: data is durable in its
 * {@link ModelState}, which every `StoreModel` on it reads.
 */
import type { GroupWrite } from '@rollcall/protocol';
import type { Change } from '../../src/store/changes/changes.ts';
import { type Absent, UNCHANGED, type Updated } from '../../src/store/outcomes.ts';
import type { BatchStore } from '../../src/store/ports/batches.ts';
import type { ChangeStore } from '../../src/store/ports/changes.ts';
import type { ConversationFeedStore } from '../../src/store/ports/conversation-feed.ts';
import type { DurablePresence, DurablePresenceStore } from '../../src/store/ports/durable-presence.ts';
import { type EligibilityStore, isEligible } from '../../src/store/ports/eligibility.ts';
import type { GroupStore } from '../../src/store/ports/groups.ts';
import type { MemberStore } from '../../src/store/ports/members.ts';
import type { MessageStore } from '../../src/store/ports/messages.ts';
import type { PreferenceStore } from '../../src/store/ports/preferences.ts';
import type { CustomerStore, ProjectRecord, ProjectStore } from '../../src/store/ports/projects.ts';
import type { SessionStore } from '../../src/store/ports/sessions.ts';
import type { ThreadStore } from '../../src/store/ports/threads.ts';
import type { TransferStore } from '../../src/store/ports/transfer.ts';
import type { UserStore } from '../../src/store/ports/users.ts';
import type { WebhookLeaseStore, WebhookStore } from '../../src/store/ports/webhooks.ts';
import type { Store } from '../../src/store/store.ts';
import type { Stored } from '../../src/store/stored-write.ts';
import { unpackIds } from '../../src/store/worker-threads/packed-ids.ts';
import type { WriteContext } from '../../src/store/write-context.ts';
import { ProjectGoneError } from '../../src/values/engine-errors.ts';
import type { Incarnation } from '../../src/values/incarnation.ts';
import type { Page, PageRequest } from '../../src/values/page.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { applyBatch } from './model-batch.ts';
import { changesOf, recordChanges } from './model-changes.ts';
import { eligibilityOf, putDurablePresence, putDurablePresences } from './model-durable-presence.ts';
import * as modelMessages from './model-messages.ts';
import { byId, fields, isAfter, latest, pageOf, passes, totalPageOf, userEntry } from './model-pages.ts';
import { addProject, copyState, ModelState } from './model-state.ts';
import * as modelThreads from './model-threads.ts';
import { exportedOf, importInto } from './model-transfer.ts';
import * as model from './model-world.ts';
import { ascending, emptyWorld, type ModelUser, type World } from './model-world.ts';

export class StoreModel implements Store {
  readonly isInProcess = true;
  readonly metrics = [];
  /** The model has no streams and no webhooks. */
  readonly conversationFeed = {} as ConversationFeedStore;
  readonly webhooks = {} as WebhookStore;
  readonly webhookLeases = {} as WebhookLeaseStore;
  readonly changes: ChangeStore;
  readonly #state: ModelState;

  readonly customers: CustomerStore = {
    create: async (customer, project) => {
      if (this.#state.customers.has(customer.id)) return false;
      if (project !== undefined) {
        if (this.#records().some(({ id }) => id === project.id)) throw new Error('the ID is taken');
        addProject(this.#state, { ...project, previousSecret: null, previousValidUntil: null });
      }
      this.#state.customers.set(customer.id, { ...customer });
      return true;
    },
    find: async (id) => this.#state.customers.get(id) ?? null,
    list: async () => [...this.#state.customers.values()].sort(byId),
  };

  readonly projects: ProjectStore = {
    create: async (project) => {
      if (!this.#state.customers.has(project.customerId)) return { kind: 'absent' };
      if (this.#records().some(({ id }) => id === project.id)) return { kind: 'exists' };
      const record = { ...project, previousSecret: null, previousValidUntil: null };
      return { kind: 'created', project: addProject(this.#state, record) };
    },
    find: async (id) => this.#records().find((record) => record.id === id) ?? null,
    list: async (customerId) =>
      this.#records()
        .filter((record) => customerId === null || record.customerId === customerId)
        .sort(byId),
    rename: async (key, name, context) => {
      const before = this.#state.projects.get(key)?.record;
      if (before?.name === name) return UNCHANGED;
      return this.#changeProject(key, () => ({ name }), 'project.renamed', context);
    },
    rotateSecret: async (key, { secret, previousValidUntil }, context) => {
      const change = (before: ProjectRecord) => ({
        secret,
        ...(previousValidUntil > context.now
          ? { previousSecret: before.secret, previousValidUntil }
          : { previousSecret: null, previousValidUntil: null }),
      });
      return this.#changeProject(key, change, 'project.secret_rotated', context);
    },
    delete: async (key) => this.#state.projects.delete(key),
  };

  readonly sessions: SessionStore = {
    serviceKey: async () => this.#state.serviceKey,
    create: async (project, session, context) => {
      if (!this.#state.projects.has(project)) return { kind: 'absent' };
      this.#state.sessions.set(session.id, { ...session, project, revoked: false });
      const changes = [{ type: 'access_token.issued' } as const];
      return this.#recorded(project, { kind: 'created', changes }, context);
    },
    find: async (id) => {
      const session = this.#state.sessions.get(id);
      const project = session && this.#state.projects.get(session.project)?.record;
      return project === undefined || session === undefined ? null : { ...session, project };
    },
    revoke: async (project, id, context) => {
      const session = this.#state.sessions.get(id);
      if (session?.project !== project || session.revoked || !this.#state.projects.has(project))
        return UNCHANGED;
      session.revoked = true;
      const changes = [{ type: 'access_token.revoked' } as const];
      return this.#recorded(project, { kind: 'updated', changes }, context);
    },
    removeExpired: async (now) => {
      for (const { id, expiresAt } of this.#state.sessions.values()) {
        if (expiresAt < now) this.#state.sessions.delete(id);
      }
      return false;
    },
  };

  readonly groups: GroupStore = {
    find: async (key, id) => {
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
    exists: async (key, id) => this.#read(key).groups.has(id),
    listByIds: async (key, ids) => {
      const { groups } = this.#read(key);
      return this.#pageOfGroups(key, WHOLE, new Set(ids).intersection(groups));
    },
    list: async (key, request) => this.#pageOfGroups(key, request),
    listAll: (key, request) => this.#allGroups(key, request),
    put: async (key, id, { members, ...fields }, context) => {
      const write: Stored<GroupWrite> =
        members === undefined ? fields : { ...fields, members: [...unpackIds(members)] };
      return this.#recorded(key, model.putGroup(this.#write(key), id, write, context), context);
    },
    delete: async (key, id, context) =>
      this.#recorded(key, model.deleteGroup(this.#write(key), id, context), context),
    connect: async (key, id, workspace, context) =>
      this.#recorded(key, model.connectGroup(this.#write(key), id, workspace, context), context),
  };

  readonly members: MemberStore = {
    change: async (key, id, { add, remove }, context) => {
      const change = { add: unpackIds(add), remove: unpackIds(remove) };
      return this.#recorded(key, model.changeMembers(this.#write(key), id, change, context), context);
    },
    list: async (key, id, request) => {
      const { groups, users } = this.#read(key);
      const group = groups.get(id);
      if (group === undefined) return null;
      return totalPageOf([...group.members], request, (userId) => {
        const { name, email } = users.get(userId) as ModelUser;
        return `{${fields({ id: userId, name, email })}}`;
      });
    },
    listGroups: async (key, id, request) => {
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
    find: async (key, id) => {
      const user = this.#read(key).users.get(id);
      if (user === undefined) return null;
      const { channels: _, ...record } = user;
      return record;
    },
    list: async (key, request) => {
      const { users } = this.#read(key);
      return totalPageOf([...users.keys()], request, (id) => userEntry(users.get(id) as ModelUser));
    },
    listByIds: async (key, ids) => {
      const { users } = this.#read(key);
      return pageOf(new Set(ids).intersection(users), WHOLE, (id) => userEntry(users.get(id) as ModelUser));
    },
    put: async (key, id, write, context) =>
      this.#recorded(key, model.putUser(this.#write(key), id, write, context), context),
    delete: async (key, id, context) =>
      this.#recorded(key, model.deleteUser(this.#write(key), id, context), context),
  };

  readonly preferences: PreferenceStore = {
    find: async (key, userId) => this.#read(key).users.get(userId)?.channels ?? null,
    put: async (key, userId, channels, context) => {
      const { users } = this.#write(key);
      const before = users.get(userId);
      if (before === undefined) return { kind: 'absent' };
      const user = { ...before, channels: { ...before.channels, ...channels } };
      if (JSON.stringify(before) === JSON.stringify(user)) return UNCHANGED;
      users.set(userId, user);
      const change = {
        type: 'preferences.updated',
        user: userId,
        fields: ['notification_channels'],
      } as const;
      return this.#recorded(key, { kind: 'updated', changes: [change] }, context);
    },
  };

  readonly eligibility: EligibilityStore = {
    find: async (key, groupId, userId) => eligibilityOf(this.#read(key), groupId, userId),
    findMany: async (key, queries) =>
      queries.map(({ groupId, userId }) => eligibilityOf(this.#read(key), groupId, userId)),
    filter: async (key, groupId, userIds) => {
      const world = this.#read(key);
      const found = ascending(new Set(userIds)).filter((id) => isEligible(eligibilityOf(world, groupId, id)));
      return new Map(found.map((id) => [id, eligibilityOf(world, groupId, id).incarnation as Incarnation]));
    },
  };

  readonly durablePresence: DurablePresenceStore = {
    put: async (key, update, context) =>
      this.#recorded(
        key,
        putDurablePresence(this.#write(key), update, context, this.#state.durableBounds),
        context,
      ),
    putMany: async (key, updates, context) => {
      const bounds = this.#state.durableBounds;
      return this.#recorded(key, putDurablePresences(this.#write(key), updates, context, bounds), context);
    },
    list: async (key, groupId, filter, { after, limit }) => {
      const { presence, users } = this.#read(key);
      const passing = presence.filter((entry) => entry.groupId === groupId && passes(entry.location, filter));
      return ascending(new Set(passing.map(({ userId }) => userId)))
        .filter((id) => users.get(id)?.status === 'active' && isAfter(id, after))
        .slice(0, limit)
        .map((id) => latest(passing.filter(({ userId }) => userId === id)) as DurablePresence);
    },
    find: async (key, groupId, userId) => {
      const { presence } = this.#read(key);
      return latest(presence.filter((entry) => entry.groupId === groupId && entry.userId === userId));
    },
  };

  readonly batches: BatchStore = {
    apply: async (key, batch, context) =>
      this.#recorded(key, applyBatch(this.#write(key), batch, context), context),
  };

  readonly threads: ThreadStore = {
    find: async (key, id, viewer) => structuredClone(modelThreads.findThread(this.#read(key), id, viewer)),
    list: async (key, request) => structuredClone(modelThreads.listThreads(this.#read(key), request)),
    put: async (key, id, write, context) =>
      this.#recorded(key, modelThreads.putThread(this.#write(key), id, write, context), context),
    delete: async (key, id, context) =>
      this.#recorded(key, modelThreads.deleteThread(this.#write(key), id, context), context),
    markSeen: async (key, id, mark, context) => modelThreads.markSeen(this.#write(key), id, mark, context),
  };

  readonly messages: MessageStore = {
    find: async (key, threadId, id) =>
      structuredClone(modelMessages.findMessage(this.#read(key), threadId, id)),
    list: async (key, threadId, request) =>
      structuredClone(modelMessages.listMessages(this.#read(key), threadId, request)),
    put: async (key, threadId, id, write, context) =>
      this.#recorded(key, modelMessages.putMessage(this.#write(key), threadId, id, write, context), context),
    append: async (key, threadId, id, append, context) =>
      this.#recorded(key, modelMessages.appendText(this.#write(key), threadId, id, append, context), context),
    delete: async (key, threadId, id, context) =>
      this.#recorded(key, modelMessages.deleteMessage(this.#write(key), threadId, id, context), context),
  };

  readonly transfer: TransferStore = {
    export: () => exportedOf(copyState(this.#state)),
    import: (batches) => importInto(this.#state, batches),
    // The model has one epoch.
    beginEpoch: async () => {},
  };

  constructor(state = new ModelState()) {
    this.#state = state;
    this.changes = changesOf(state);
  }

  /** An independent copy of the model. */
  copy(): StoreModel {
    return new StoreModel(copyState(this.#state));
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
    recordChanges(this.#state, key, changes, context);
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
