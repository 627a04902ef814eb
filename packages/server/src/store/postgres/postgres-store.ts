import { DURABLE_BOUNDS, type DurableBounds } from '../durable-bounds.ts';
import { isPacked } from '../packed-ids.ts';
import { type ProjectKey, type Store, StoreUnavailableError } from '../store.ts';
import { toStored } from '../stored-write.ts';
import { applyBatch } from './batch/postgres-batch.ts';
import { carriedRecords } from './carry/postgres-carry.ts';
import { carryIn } from './carry/postgres-carry-writes.ts';
import { PostgresConnection } from './connections/postgres-connection.ts';
import { PostgresDatabase, type WriteTarget } from './connections/postgres-database.ts';
import { toStoreFailure } from './connections/postgres-errors.ts';
import { LongReads } from './connections/postgres-snapshots.ts';
import { type PostgresSettings, parsePostgresUrl } from './connections/postgres-url.ts';
import { deleteGroup, deleteUser } from './postgres-deletions.ts';
import { changeGroupMembers, groupRow, putGroup } from './postgres-group-writes.ts';
import { connectGroup, groupReads } from './postgres-groups.ts';
import { memberReads } from './postgres-members.ts';
import { migrate } from './postgres-migrate.ts';
import { presenceReads } from './postgres-presence.ts';
import { putDurablePresence } from './postgres-presence-writes.ts';
import { projectReads, projectWrites } from './postgres-projects.ts';
import { Purge } from './postgres-purge.ts';
import { standingReads } from './postgres-standings.ts';
import { putPreferences, putUser, userReads } from './postgres-users.ts';
import { LargeWrites } from './threads/postgres-large-writes.ts';

/**
 * A batch whose body is no larger is applied here: reading it takes the event loop some 4 ms, which is less than a thread
 * costs, and it waits for nobody's large ones.
 */
const SMALL_BATCH_BYTES = 32 * 1_024;

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
  const engine = {
    database: new PostgresDatabase(settings),
    longReads: new LongReads(settings),
    largeWrites: new LargeWrites({ url }),
  };
  return postgresStore(engine, durableBounds);
}

const userRow = (project: ProjectKey, id: string): WriteTarget => ({ project, row: `user ${id}` });

async function prepare(settings: PostgresSettings): Promise<void> {
  const connection = await PostgresConnection.open(settings);
  try {
    await migrate(connection);
  } catch (error) {
    throw toStoreFailure(error);
  } finally {
    await connection.close();
  }
}

interface PostgresEngine {
  readonly database: PostgresDatabase;
  readonly longReads: LongReads;
  readonly largeWrites: LargeWrites;
}

function postgresStore(engine: PostgresEngine, durableBounds: DurableBounds): Store {
  const { database, longReads, largeWrites } = engine;
  const projects = { ...projectReads(database), ...projectWrites(database) };
  const groups = groupReads(database, longReads);
  const members = memberReads(database);
  const users = userReads(database);
  const standings = standingReads(database);
  const presence = presenceReads(database);
  const purge = new Purge(database);
  let closing: Promise<void> | null = null;

  const close = async () => {
    await Promise.all([purge.close(), longReads.close(), largeWrites.close()]);
    await database.close();
  };

  return {
    isInProcess: false,
    async ping() {
      if ((await database.read('SELECT 1')).length === 0)
        throw new StoreUnavailableError('the store does not answer');
    },
    close() {
      closing ??= close();
      return closing;
    },

    ...projects,
    async deleteProject(project) {
      const isDeleted = await projects.deleteProject(project);
      if (isDeleted) purge.start();
      return isDeleted;
    },

    findGroup: groups.find,
    groupExists: groups.exists,
    listGroups: groups.list,
    listAllGroups: groups.listAll,
    putGroup: (project, id, write, context) =>
      isPacked(write.members)
        ? largeWrites.apply({ type: 'putGroup', project, id, write: toStored(write), context })
        : putGroup(database, project, id, toStored(write), context),
    changeMembers: (project, id, change, context) =>
      isPacked(change.add) || isPacked(change.remove)
        ? largeWrites.apply({ type: 'changeMembers', project, id, change, context })
        : changeGroupMembers(database, project, id, change, context),
    listMembers: members.list,
    deleteGroup: (project, id, context) =>
      database.operation((attempt) => deleteGroup(attempt, project, id, context), groupRow(project, id)),
    connectGroup: (project, id, workspace, stamp) =>
      database.operation(
        (attempt) => connectGroup(attempt, project, id, workspace, stamp),
        groupRow(project, id),
      ),

    findUser: users.find,
    listUsers: users.list,
    putUser: (project, id, write, context) =>
      database.operation(
        (attempt) => putUser(attempt, project, id, toStored(write), context),
        userRow(project, id),
      ),
    deleteUser: (project, id, context) =>
      database.operation((attempt) => deleteUser(attempt, project, id, context), userRow(project, id)),
    listUserGroups: members.groupsOf,

    applyBatch: (project, batch, stamp) =>
      batch.body.length > SMALL_BATCH_BYTES
        ? largeWrites.apply({ type: 'applyBatch', project, batch, stamp })
        : applyBatch(database, project, batch, stamp, 'unknown'),

    findPreferences: users.preferences,
    putPreferences: (project, userId, channels) =>
      database.operation(
        (attempt) => putPreferences(attempt, project, userId, channels),
        userRow(project, userId),
      ),

    ...standings,
    putDurablePresence: (project, update, stamp) =>
      database.operation((attempt) => putDurablePresence(attempt, project, update, stamp, durableBounds), {
        project,
        row: `presence ${update.groupId} ${update.userId}`,
      }),
    listDurablePresence: presence.listDurable,
    findDurablePresence: presence.findDurable,

    carryOut: () => carriedRecords(longReads),
    carryIn: (records, stamp) => carryIn(database, records, stamp),
  };
}
