import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DURABLE_BOUNDS, type DurableBounds } from '../durable-bounds.ts';
import { type IdList, isPacked } from '../packed-ids.ts';
import { type Store, StoreUnavailableError } from '../store.ts';
import { toStored } from '../stored-write.ts';
import { transferable } from '../transferable.ts';
import { carriedRecords } from './sqlite-carry.ts';
import { StoreCondition } from './sqlite-condition.ts';
import { groupReads } from './sqlite-groups.ts';
import { memberReads } from './sqlite-member-lists.ts';
import { presenceReads } from './sqlite-presence.ts';
import { projectReads } from './sqlite-projects.ts';
import { SqliteReader } from './sqlite-reader.ts';
import { SnapshotPool } from './sqlite-snapshots.ts';
import { standingReads } from './sqlite-standings.ts';
import { userReads } from './sqlite-users.ts';
import { SqliteWriter } from './sqlite-writer.ts';

/** The store's file within the data directory. */
export const STORE_FILE = 'rollcall.db';

export interface SqliteStoreOptions {
  /** Where the store's files are; made when missing. */
  readonly dataDir: string;
  /** Most operations that share one commit; 1 is a commit for each (for measuring what sharing gains). */
  readonly maxOperationsPerCommit?: number;
  /** Size at which the write-ahead log is folded into the file, in bytes. */
  readonly checkpointBytes?: number;
  /** Default: those of the API. */
  readonly durableBounds?: DurableBounds;
  /** Called once, when nothing can be written any more until another start, with a line for the operator. */
  readonly onLost?: (reason: string) => void;
}

const MAX_OPERATIONS_PER_COMMIT = 4_096;
const CHECKPOINT_BYTES = 16 * 1_024 ** 2;

/**
 * The embedded Store (see the port): SQLite in this process, in WAL mode and flushed at every commit. Reads run on the
 * calling thread, writes on one thread of their own.
 * @throws SchemaTooNewError when a newer version has written the store; StoreUnavailableError when it cannot be opened.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  mkdirSync(options.dataDir, { recursive: true });
  const file = join(options.dataDir, STORE_FILE);
  const condition = new StoreCondition(options.onLost ?? (() => {}));
  let reader: SqliteReader | null = null;
  const snapshots = new SnapshotPool(file, condition);
  const writer = await SqliteWriter.start(
    {
      file,
      maxOperationsPerCommit: options.maxOperationsPerCommit ?? MAX_OPERATIONS_PER_COMMIT,
      checkpointBytes: options.checkpointBytes ?? CHECKPOINT_BYTES,
      durableBounds: options.durableBounds ?? DURABLE_BOUNDS,
    },
    {
      onCommit: () => reader?.renew(),
      onRelease() {
        reader?.suspend();
        return snapshots.active;
      },
      onResume: () => reader?.resume(),
    },
    condition,
  );
  try {
    reader = new SqliteReader(file, condition);
    return sqliteStore(reader, snapshots, writer, condition);
  } catch (error) {
    condition.close();
    await writer.close();
    throw condition.readFailure(error);
  }
}

/** The buffers of packed lists, which are transferred to the writer. */
const buffersOf = (...lists: readonly (IdList | undefined)[]): ArrayBuffer[] =>
  transferable(...lists.map((list) => (isPacked(list) ? list.bytes : undefined)));

function sqliteStore(
  reader: SqliteReader,
  snapshots: SnapshotPool,
  writer: SqliteWriter,
  condition: StoreCondition,
): Store {
  const projects = projectReads(reader);
  const groups = groupReads(reader, snapshots);
  const members = memberReads(reader);
  const users = userReads(reader);
  const standings = standingReads(reader);
  const presence = presenceReads(reader);
  const alive = reader.prepare('SELECT 1');
  let closing: Promise<void> | null = null;

  return {
    isInProcess: true,
    async ping() {
      writer.check();
      if (alive.get() === undefined) throw new StoreUnavailableError('the store does not answer');
    },
    close() {
      // Whoever still reads lets go first, so that the log can be folded into the file.
      condition.close();
      snapshots.close();
      reader.suspend();
      closing ??= writer.close().finally(() => reader.close());
      return closing;
    },

    createCustomer: (customer) => writer.run('createCustomer', customer),
    findCustomer: async (id) => projects.findCustomer(id),
    listCustomers: async () => projects.listCustomers(),
    createProject: (project) => writer.run('createProject', project),
    findProject: async (id) => projects.findProject(id),
    listProjects: async (customerId) => projects.listProjects(customerId),
    renameProject: (project, name) => writer.run('renameProject', project, name),
    rotateSecret: (project, secret, until) => writer.run('rotateSecret', project, secret, until),
    deleteProject: (project) => writer.run('deleteProject', project),
    serviceKey: () => writer.run('serviceKey'),
    createSession: (session) => writer.run('createSession', session),
    findSession: async (id) => projects.findSession(id),
    revokeSession: (id) => writer.run('revokeSession', id),
    removeExpiredSessions: (now) => writer.run('removeExpiredSessions', now),

    findGroup: (project, id) => groups.find(project, id),
    groupExists: async (project, id) => groups.exists(project, id),
    listGroups: async (project, page) => groups.list(project, page),
    listAllGroups: groups.listAll,
    putGroup: (project, id, write, context) =>
      writer.runWith(buffersOf(write.members), 'putGroup', project, id, toStored(write), context),
    changeMembers: (project, id, change, context) =>
      writer.runWith(buffersOf(change.add, change.remove), 'changeMembers', project, id, change, context),
    listMembers: async (project, id, page) => members.list(project, id, page),
    deleteGroup: (project, id, context) => writer.run('deleteGroup', project, id, context),
    connectGroup: (project, id, workspace, context) =>
      writer.run('connectGroup', project, id, workspace, context),

    findUser: async (project, id) => users.find(project, id),
    listUsers: async (project, page) => users.list(project, page),
    putUser: (project, id, write, context) => writer.run('putUser', project, id, toStored(write), context),
    deleteUser: (project, id, context) => writer.run('deleteUser', project, id, context),
    listUserGroups: async (project, id, page) => members.groupsOf(project, id, page),

    applyBatch: (project, batch, context) =>
      writer.runWith(transferable(batch.body), 'applyBatch', project, batch, context),

    findPreferences: async (project, id) => users.preferences(project, id),
    putPreferences: (project, id, channels) => writer.run('putPreferences', project, id, channels),

    standing: async (project, groupId, userId) => standings.standing(project, groupId, userId),
    standings: async (project, asked) => standings.standings(project, asked),
    presentable: async (project, groupId, userIds) => standings.presentable(project, groupId, userIds),
    putDurablePresence: (project, update, context) =>
      writer.run('putDurablePresence', project, update, context),
    listDurablePresence: async (project, groupId, filter, page) =>
      presence.listDurable(project, groupId, filter, page),
    findDurablePresence: async (project, groupId, userId) => presence.findDurable(project, groupId, userId),

    carryOut: () => carriedRecords(snapshots),
    carryIn: (records, stamp) => writer.run('carryIn', records, stamp),
  };
}
