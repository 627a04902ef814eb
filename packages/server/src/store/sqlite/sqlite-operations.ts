import type { NotificationChannels } from '@rollcall/protocol';
import { DURABLE_BOUNDS } from '../durable-bounds.ts';
import type {
  BatchRequest,
  CarriedRecord,
  CustomerRecord,
  DurablePresenceUpdate,
  MembershipChange,
  ProjectKey,
  Store,
  WriteContext,
  WriteStamp,
} from '../store.ts';
import { ProjectGoneError } from '../store.ts';
import type { StoredGroupWrite, StoredUserWrite } from '../stored-write.ts';
import { BatchWrites } from './sqlite-batch.ts';
import { CarryWrites } from './sqlite-carry.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { GroupWrites } from './sqlite-groups.ts';
import { MembershipWrites } from './sqlite-members.ts';
import { PresenceWrites } from './sqlite-presence-writes.ts';
import { ProjectWrites } from './sqlite-projects.ts';
import { UserWrites } from './sqlite-users.ts';

/** Thrown by an operation whose changes must not be kept, though it has an answer: a refused batch, a dry run. */
export class RollBack extends Error {
  readonly answer: unknown;
  constructor(answer: unknown) {
    super('rolled back');
    this.answer = answer;
  }
}

/** Every write of the store, by the name of its method; each runs within a savepoint on the writer's thread. */
export function writeOperations(connection: SqliteConnection, durableBounds = DURABLE_BOUNDS) {
  const presence = new PresenceWrites(connection, durableBounds);
  const memberships = new MembershipWrites(connection, presence);
  const users = new UserWrites(connection, memberships);
  const groups = new GroupWrites(connection, memberships);
  const batches = new BatchWrites(users, groups, memberships);
  const projects = new ProjectWrites(connection);
  const carries = new CarryWrites(connection, users, groups, presence);

  /** Only a live project is written to: a request may still be under way when its project is deleted. */
  const within =
    <Rest extends unknown[], Answer>(write: (project: ProjectKey, ...rest: Rest) => Answer) =>
    (project: ProjectKey, ...rest: Rest): Answer => {
      if (!projects.isAlive(project)) throw new ProjectGoneError();
      return write(project, ...rest);
    };

  return {
    createCustomer: (customer: CustomerRecord) => projects.createCustomer(customer),
    createProject: (project: Parameters<Store['createProject']>[0]) => projects.createProject(project),
    renameProject: (project: ProjectKey, name: string) => projects.renameProject(project, name),
    rotateSecret: (project: ProjectKey, secret: string, until: number) =>
      projects.rotateSecret(project, secret, until),
    deleteProject: (project: ProjectKey) => projects.deleteProject(project),
    serviceKey: () => projects.serviceKey(),
    createSession: (session: { id: string; project: ProjectKey; expiresAt: number }) =>
      projects.createSession(session),
    revokeSession: (id: string) => projects.revokeSession(id),
    removeExpiredSessions: (now: number) => projects.removeExpiredSessions(now),
    purge: () => projects.purge(),

    putGroup: within((project, id: string, write: StoredGroupWrite, context: WriteContext) =>
      groups.put(project, id, write, context),
    ),
    deleteGroup: within((project, id: string, context: WriteContext) => groups.delete(project, id, context)),
    connectGroup: within((project, id: string, workspace: string | null, stamp: WriteStamp) =>
      groups.connect(project, id, workspace, stamp),
    ),
    changeMembers: within((project, id: string, change: MembershipChange, context: WriteContext) =>
      memberships.change(project, id, change, context),
    ),

    putUser: within((project, id: string, write: StoredUserWrite, context: WriteContext) =>
      users.put(project, id, write, context),
    ),
    deleteUser: within((project, id: string, context: WriteContext) => users.delete(project, id, context)),
    putPreferences: within((project, id: string, channels: NotificationChannels) =>
      users.putPreferences(project, id, channels),
    ),
    applyBatch: within((project, batch: BatchRequest, stamp: WriteStamp) => {
      const { outcome, keep } = batches.apply(project, batch, stamp);
      if (!keep) throw new RollBack(outcome);
      return outcome;
    }),
    putDurablePresence: within((project, update: DurablePresenceUpdate, stamp: WriteStamp) =>
      presence.put(project, update, stamp),
    ),

    carryIn: (records: readonly CarriedRecord[], stamp: WriteStamp) => carries.carryIn(records, stamp),
  };
}

export type WriteOperations = ReturnType<typeof writeOperations>;
export type WriteOperation = keyof WriteOperations;
