import { type Store, StoreUnavailableError } from '../store.ts';
import { toStored } from '../stored-write.ts';
import { applyBatch } from './postgres-batch.ts';
import { carriedRecords } from './postgres-carry.ts';
import { carryIn } from './postgres-carry-writes.ts';
import { PostgresConnection } from './postgres-connection.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { toStoreFailure } from './postgres-errors.ts';
import { connectGroup, deleteGroup, groupReads, putGroupFields } from './postgres-groups.ts';
import { memberReads } from './postgres-members.ts';
import { changeMembers, deleteUser, putGroupMembers } from './postgres-membership-writes.ts';
import { migrate } from './postgres-migrate.ts';
import { presenceReads } from './postgres-presence.ts';
import { putDurablePresence } from './postgres-presence-writes.ts';
import { projectReads, projectWrites } from './postgres-projects.ts';
import { Purge } from './postgres-purge.ts';
import { LongReads } from './postgres-snapshots.ts';
import { standingReads } from './postgres-standings.ts';
import { type PostgresSettings, parsePostgresUrl } from './postgres-url.ts';
import { putPreferences, putUser, userReads } from './postgres-users.ts';

export interface PostgresStoreOptions {
  /** Which database, and how: see {@link parsePostgresUrl}. */
  readonly url: string;
}

/**
 * The Store (see the port) on PostgreSQL, for as many processes as there are. Brings the schema up to date first.
 * @throws SchemaTooNewError when a newer version has written the store; StoreUnavailableError when it cannot be reached.
 */
export async function openPostgresStore({ url }: PostgresStoreOptions): Promise<Store> {
  const settings = parsePostgresUrl(url);
  await prepare(settings);
  return postgresStore(new PostgresDatabase(settings), new LongReads(settings));
}

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

function postgresStore(database: PostgresDatabase, longReads: LongReads): Store {
  const projects = { ...projectReads(database), ...projectWrites(database) };
  const groups = groupReads(database, longReads);
  const members = memberReads(database);
  const users = userReads(database);
  const standings = standingReads(database);
  const presence = presenceReads(database);
  const purge = new Purge(database);
  let closing: Promise<void> | null = null;

  const close = async () => {
    await Promise.all([purge.close(), longReads.close()]);
    await database.close();
  };

  return {
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
    putGroup(project, id, write, context) {
      const { members: list, ...stored } = toStored(write);
      return database.operation((attempt) =>
        list === undefined
          ? putGroupFields(attempt, project, id, stored, context)
          : putGroupMembers(attempt, project, id, { ...stored, members: list }, context),
      );
    },
    changeMembers: (project, id, change, context) =>
      database.operation((attempt) => changeMembers(attempt, project, id, change, context)),
    listMembers: members.list,
    deleteGroup: (project, id, context) =>
      database.operation((attempt) => deleteGroup(attempt, project, id, context)),
    connectGroup: (project, id, workspace, stamp) =>
      database.operation((attempt) => connectGroup(attempt, project, id, workspace, stamp)),

    findUser: users.find,
    listUsers: users.list,
    putUser: (project, id, write, context) =>
      database.operation((attempt) => putUser(attempt, project, id, toStored(write), context)),
    deleteUser: (project, id, context) =>
      database.operation((attempt) => deleteUser(attempt, project, id, context)),
    listUserGroups: members.groupsOf,

    applyBatch: (project, batch, stamp) =>
      database.operation((attempt) => applyBatch(attempt, project, batch, stamp)),

    findPreferences: users.preferences,
    putPreferences: (project, userId, channels) =>
      database.operation((attempt) => putPreferences(attempt, project, userId, channels)),

    ...standings,
    putDurablePresence: (project, update, stamp) =>
      database.operation((attempt) => putDurablePresence(attempt, project, update, stamp)),
    listDurablePresence: presence.listDurable,
    findDurablePresence: presence.findDurable,

    carryOut: () => carriedRecords(longReads),
    carryIn: (records, stamp) => carryIn(database, records, stamp),
  };
}
