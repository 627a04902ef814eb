import { DURABLE_BOUNDS, type DurableBounds } from '../durable-bounds.ts';
import type { Store } from '../store.ts';
import { batchStore } from './batch/postgres-batch.ts';
import { PostgresConnection } from './connections/postgres-connection.ts';
import { PostgresDatabase } from './connections/postgres-database.ts';
import { toStoreFailure } from './connections/postgres-errors.ts';
import { LongReads } from './connections/postgres-snapshots.ts';
import { type PostgresSettings, parsePostgresUrl } from './connections/postgres-url.ts';
import { changeStore } from './postgres-changes.ts';
import { conversationFeedStore } from './postgres-conversation-feed.ts';
import { durablePresenceStore } from './postgres-durable-presence.ts';
import { eligibilityStore } from './postgres-eligibility.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { groupStore } from './postgres-groups.ts';
import { memberStore } from './postgres-members.ts';
import { messageStore } from './postgres-messages.ts';
import { migrate } from './postgres-migrate.ts';
import { preferenceStore } from './postgres-preferences.ts';
import { customerStore, projectStore } from './postgres-projects.ts';
import { Purge } from './postgres-purge.ts';
import { sessionStore } from './postgres-sessions.ts';
import { threadStore } from './postgres-threads.ts';
import { postgresTransfer } from './postgres-transfer.ts';
import { userStore } from './postgres-users.ts';
import { LargeWrites } from './threads/postgres-large-writes.ts';

export interface PostgresStoreOptions {
  /** Which database, and how: see {@link parsePostgresUrl}. */
  readonly url: string;
  /** Default: those of the API. */
  readonly durableBounds?: DurableBounds;
}

/**
 * The Store (see the port) on PostgreSQL, for as many processes as there are. Brings the schema up to date first.
 * @throws SchemaTooNewError when a newer version has written the store; StoreUnavailableError when it cannot be reached.
 */
export async function openPostgresStore({
  url,
  durableBounds = DURABLE_BOUNDS,
}: PostgresStoreOptions): Promise<Store> {
  const settings = parsePostgresUrl(url);
  await prepare(settings);
  const database = new PostgresDatabase(settings);
  const longReads = new LongReads(settings);
  const largeWrites = new LargeWrites({ url });
  const purge = new Purge(database);
  const startPurge = () => purge.start();
  const engine: PostgresEngine = { database, longReads, largeWrites, durableBounds, startPurge };
  let closing: Promise<void> | null = null;

  const close = async () => {
    await Promise.all([purge.close(), longReads.close(), largeWrites.close()]);
    await database.close();
  };

  return {
    isInProcess: false,
    customers: customerStore(engine),
    projects: projectStore(engine),
    sessions: sessionStore(engine),
    users: userStore(engine),
    preferences: preferenceStore(engine),
    groups: groupStore(engine),
    members: memberStore(engine),
    eligibility: eligibilityStore(engine),
    durablePresence: durablePresenceStore(engine),
    threads: threadStore(engine),
    messages: messageStore(engine),
    conversationFeed: conversationFeedStore(engine),
    batches: batchStore(engine),
    transfer: postgresTransfer(settings, longReads),
    changes: changeStore(engine),

    async ping() {
      await database.read('SELECT 1');
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

async function prepare(settings: PostgresSettings): Promise<void> {
  await using connection = await PostgresConnection.open(settings);
  try {
    await migrate(connection);
  } catch (error) {
    throw toStoreFailure(error);
  }
}
