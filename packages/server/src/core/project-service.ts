import { limits } from '@rollcall/protocol';
import type { Logger } from 'pino';
import type { Broker } from '../broker/broker.ts';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { ProjectRecord, Store } from '../store/store.ts';
import { announce } from './announce.ts';
import type { CustomerCaller } from './caller.ts';
import type { Clock } from './clock.ts';
import { newId, newSecret } from './credentials.ts';
import { ServiceError } from './service-error.ts';

/** A project as its customer sees it: without secrets. Times are in milliseconds since the epoch. */
export type ProjectSummary = Pick<ProjectRecord, 'id' | 'name' | 'createdAt'>;

/** The only time that the first secret is shown. */
export type NewProject = ProjectSummary & { readonly secret: string };

/** The only time that the new secret is shown. */
export interface NewSecret {
  readonly secret: string;
  readonly previousValidUntil: number;
}

/** What customers do with their projects. A project of somebody else is project_not_found, as if it did not exist. */
export interface ProjectService {
  create(caller: CustomerCaller, write: { readonly name: string }): Promise<NewProject>;
  /** In order of ID. */
  list(caller: CustomerCaller): Promise<ProjectSummary[]>;
  /** @throws ServiceError project_not_found */
  get(caller: CustomerCaller, id: string): Promise<ProjectSummary>;
  /** @throws ServiceError project_not_found */
  rename(caller: CustomerCaller, id: string, name: string): Promise<void>;
  /** Removes the project and everything in it. @throws ServiceError project_not_found */
  remove(caller: CustomerCaller, id: string): Promise<void>;
  /**
   * Makes a new secret; the old one goes on for `overlapSeconds` (a day; 0 ends it at once), and the one before ends.
   * @throws ServiceError project_not_found
   */
  rotateSecret(caller: CustomerCaller, id: string, overlapSeconds?: number): Promise<NewSecret>;
}

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createProjectService({ store, presence, broker, clock, log }: Parts): ProjectService {
  async function find({ customerId }: CustomerCaller, id: string): Promise<ProjectRecord> {
    const project = await store.findProject(id);
    if (project?.customerId !== customerId) throw projectNotFound(id);
    return project;
  }
  const changed = (projectId: string) => announce(broker, { type: 'project', projectId });

  return {
    async create({ customerId }, { name }) {
      const outcome = await store.createProject({
        id: newId('prj'),
        customerId,
        name,
        secret: newSecret(),
        createdAt: clock.now(),
      });
      if (outcome.kind !== 'created')
        throw new Error(`a project with a new ID was not created: ${outcome.kind}`);
      return { ...summary(outcome.project), secret: outcome.project.secret };
    },
    list: async ({ customerId }) => (await store.listProjects(customerId)).map(summary),
    get: async (caller, id) => summary(await find(caller, id)),
    async rename(caller, id, name) {
      const { key } = await find(caller, id);
      if (!(await store.renameProject(key, name))) throw projectNotFound(id);
      await changed(id);
    },
    async remove(caller, id) {
      const { key } = await find(caller, id);
      if (!(await store.deleteProject(key))) throw projectNotFound(id);
      await changed(id);
      // The project is gone either way, and its presence cannot be read any more.
      await presence.removeProject(key, clock.now()).catch((err: unknown) => {
        log.error({ err }, 'presence of a deleted project was not cleared');
      });
    },
    async rotateSecret(caller, id, overlapSeconds = limits.ROTATION_DEFAULT_OVERLAP_SECONDS) {
      const { key } = await find(caller, id);
      const secret = newSecret();
      const previousValidUntil = clock.now() + overlapSeconds * 1_000;
      if (!(await store.rotateSecret(key, secret, previousValidUntil))) throw projectNotFound(id);
      await changed(id);
      return { secret, previousValidUntil };
    },
  };
}

const summary = ({ id, name, createdAt }: ProjectRecord): ProjectSummary => ({ id, name, createdAt });

const projectNotFound = (id: string) =>
  new ServiceError('project_not_found', `the project ${id} does not exist`);
