/** The ports of the store: reads run on the main thread, writes on the writer's thread. */
import type { DurableBounds } from '../durable-bounds.ts';
import type { STORE_WRITES, Store } from '../store.ts';
import { conversationFeedReads } from './conversation/sqlite-conversation-feed.ts';
import { messageReads } from './conversation/sqlite-messages.ts';
import { MessageWrites } from './conversation/sqlite-messages-writes.ts';
import { threadReads } from './conversation/sqlite-threads.ts';
import { ThreadWrites } from './conversation/sqlite-threads-writes.ts';
import { durablePresenceReads } from './presence/sqlite-durable-presence.ts';
import { DurablePresenceWrites } from './presence/sqlite-durable-presence-writes.ts';
import { eligibilityReads } from './presence/sqlite-eligibility.ts';
import { batchWrites } from './roster/sqlite-batch.ts';
import { GroupWrites, groupReads } from './roster/sqlite-groups.ts';
import { memberReads } from './roster/sqlite-member-lists.ts';
import { MembershipWrites } from './roster/sqlite-members.ts';
import { preferenceReads, preferenceWrites } from './roster/sqlite-preferences.ts';
import { UserWrites, userReads } from './roster/sqlite-users.ts';
import { ChangeWrites, changeReads } from './sqlite-changes.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Writes } from './sqlite-methods.ts';
import { customerReads, customerWrites, projectReads, projectWrites } from './sqlite-projects.ts';
import { Purge } from './sqlite-purge.ts';
import type { SqliteReader } from './sqlite-reader.ts';
import { sessionReads, sessionWrites } from './sqlite-sessions.ts';
import type { SnapshotPool } from './sqlite-snapshots.ts';
import { webhookLeaseReads, webhookLeaseWrites } from './webhooks/sqlite-webhook-leases.ts';
import { webhookReads, webhookWrites } from './webhooks/sqlite-webhooks.ts';

/** The ports on the main thread. `methods` makes the writes of a port. */
export const sqlitePorts = (
  reader: SqliteReader,
  snapshots: SnapshotPool,
  methods: WriteMethods,
): Omit<Store, 'transfer' | 'isInProcess' | 'metrics' | 'ping' | 'close'> => ({
  customers: { ...customerReads(reader), ...methods('customers') },
  projects: { ...projectReads(reader), ...methods('projects') },
  sessions: { ...sessionReads(reader), ...methods('sessions') },
  users: { ...userReads(reader), ...methods('users') },
  preferences: { ...preferenceReads(reader), ...methods('preferences') },
  groups: { ...groupReads(reader, snapshots), ...methods('groups') },
  members: { ...memberReads(reader), ...methods('members') },
  eligibility: eligibilityReads(reader),
  durablePresence: { ...durablePresenceReads(reader), ...methods('durablePresence') },
  threads: { ...threadReads(reader), ...methods('threads') },
  messages: { ...messageReads(reader), ...methods('messages') },
  conversationFeed: conversationFeedReads(reader),
  batches: methods('batches'),
  changes: { ...changeReads(reader), ...methods('changes') },
  webhooks: { ...webhookReads(reader), ...methods('webhooks') },
  webhookLeases: { ...webhookLeaseReads(reader), ...methods('webhookLeases') },
});

/** The writes on the writer's thread, by the name of their port. Each runs within a savepoint. */
export function sqliteWrites(connection: SqliteConnection, durableBounds: DurableBounds) {
  const durablePresence = new DurablePresenceWrites(connection, durableBounds);
  const members = new MembershipWrites(connection, durablePresence);
  const users = new UserWrites(connection, members);
  const groups = new GroupWrites(connection, members);
  const threads = new ThreadWrites(connection);
  return {
    customers: customerWrites(connection),
    projects: projectWrites(connection),
    sessions: sessionWrites(connection),
    users,
    preferences: preferenceWrites(connection),
    groups,
    members,
    durablePresence,
    threads,
    messages: new MessageWrites(connection, threads),
    batches: batchWrites({ users, groups, members }),
    changes: new ChangeWrites(connection),
    webhooks: webhookWrites(connection),
    webhookLeases: webhookLeaseWrites(connection),
    purge: new Purge(connection),
  } satisfies { readonly [Port in keyof typeof STORE_WRITES]: Writes<Port> } & { readonly purge: Purge };
}

export type SqliteWrites = ReturnType<typeof sqliteWrites>;
/** A port of the store, as the writer's thread knows it. */
export type WritePort = keyof SqliteWrites;

/** The writes of a port, on the writer's thread: each resolves with its outcome once it is committed and flushed. */
export type WriteMethods = <Port extends keyof typeof STORE_WRITES>(
  port: Port,
) => Pick<Store[Port], (typeof STORE_WRITES)[Port][number] & keyof Store[Port]>;

const WITHOUT_PROJECT: ReadonlySet<WritePort> = new Set([
  'customers',
  'projects',
  'sessions',
  'changes',
  'webhookLeases',
  'purge',
]);

/** Whether the writes of a port name the project first. A deleted project rejects them, also those of requests in flight. */
export const namesProject = (port: WritePort): boolean => !WITHOUT_PROJECT.has(port);
