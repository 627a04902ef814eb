import type { Logger } from 'pino';
import type { Broker } from '../broker/broker.ts';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { NewSecret, ProjectRecord } from '../store/ports/projects.ts';
import type { Store } from '../store/store.ts';
import type { CustomerCaller, WriterOf } from './caller.ts';
import type { StoreWrites } from './changes/store-writes.ts';
import { newProject, nextSecret } from './clients/credentials.ts';
import type { Clock } from './clock.ts';
import { publish } from './publish.ts';
import { ServiceError } from './service-error.ts';

/** A project as its customer sees it: without secrets. Times are in milliseconds since the epoch. */
type ProjectSummary = Pick<ProjectRecord, 'id' | 'name' | 'createdAt'>;

/** The only time that the first secret is shown. */
type NewProject = ProjectSummary & { readonly secret: string };

interface Parts {
  readonly store: Pick<Store, 'projects'>;
  readonly presence: PresenceStore;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Logger;
  readonly writes: StoreWrites;
}

/**
 * The operations of customers on their projects. A project of another customer is `project_not_found`, as if it did not exist:
 * each method with an ID throws it.
 */
export class ProjectService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The log has it, with the trace of the request, because the record of changes would go with the project. */
  async create(
    { customerId, requestId }: WriterOf<CustomerCaller>,
    { name }: { readonly name: string },
    trace: object = {},
  ): Promise<NewProject> {
    const { store, clock, log } = this.#parts;
    const write = newProject({ customerId, name }, clock.now());
    const outcome = await store.projects.create(write);
    if (outcome.kind !== 'created')
      throw new Error(`a project with a new ID was not created: ${outcome.kind}`);
    log.info({ projectId: write.id, customerId, reqId: requestId, ...trace }, 'project created');
    return { ...summary(outcome.project), secret: outcome.project.secret };
  }

  /** In order of ID. */
  async list({ customerId }: CustomerCaller): Promise<ProjectSummary[]> {
    return (await this.#parts.store.projects.list(customerId)).map(summary);
  }

  async get(caller: CustomerCaller, id: string): Promise<ProjectSummary> {
    return summary(await this.#find(caller, id));
  }

  async rename(writer: WriterOf<CustomerCaller>, id: string, name: string): Promise<void> {
    const { store, writes } = this.#parts;
    const { key } = await this.#find(writer, id);
    await writes.run({ ...writer, project: key }, (context) => store.projects.rename(key, name, context), {
      absent: () => projectNotFound(id),
    });
    await this.#publishChange(id);
  }

  /** Removes the project and everything in it. The log has it, with the trace of the request. */
  async remove(writer: WriterOf<CustomerCaller>, id: string, trace: object = {}): Promise<void> {
    const { store, presence, clock, log } = this.#parts;
    const { customerId, requestId } = writer;
    const { key } = await this.#find(writer, id);
    if (!(await store.projects.delete(key))) throw projectNotFound(id);
    log.info({ projectId: id, customerId, reqId: requestId, ...trace }, 'project deleted');
    await this.#publishChange(id);
    // The project is gone either way, and its presence cannot be read any more.
    await presence.removeProject(key, clock.now()).catch((err: unknown) => {
      log.error(
        { err },
        'presence of a deleted project was not cleared; it cannot be read, and ends at its deadlines',
      );
    });
  }

  /** Makes a new secret. The old one is valid for `overlapSeconds` (0 ends it at once), and the one before ends. */
  async rotateSecret(
    writer: WriterOf<CustomerCaller>,
    id: string,
    overlapSeconds?: number,
  ): Promise<NewSecret> {
    const { key } = await this.#find(writer, id);
    const { store, clock, writes } = this.#parts;
    const next = nextSecret(clock.now(), overlapSeconds);
    await writes.run(
      { ...writer, project: key },
      (context) => store.projects.rotateSecret(key, next, context),
      { absent: () => projectNotFound(id) },
    );
    await this.#publishChange(id);
    return next;
  }

  async #find({ customerId }: CustomerCaller, id: string): Promise<ProjectRecord> {
    const project = await this.#parts.store.projects.find(id);
    if (project?.customerId !== customerId) throw projectNotFound(id);
    return project;
  }

  #publishChange(projectId: string): Promise<void> {
    return publish(this.#parts.broker, { type: 'project', projectId });
  }
}

const summary = ({ id, name, createdAt }: ProjectRecord): ProjectSummary => ({ id, name, createdAt });

const projectNotFound = (id: string) =>
  new ServiceError('project_not_found', `the project ${id} does not exist`);
