import type { Logger } from 'pino';
import { WorkerPool } from '../../concurrency/worker-pool.ts';
import { stopping } from '../../core/service-error.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { BodyReading, BodyTask } from './body-reading.ts';
import { BodyWorker } from './body-worker.ts';
import type { LargeBodyName } from './large-bodies.ts';
import type { ReceivedBody } from './received-body.ts';

/**
 * How many bodies are read at once, each on a thread of its own, one of each project at most: one project alone never
 * occupies all threads. Reading 32 MiB takes a thread up to some seconds and half a GB of memory.
 */
const MOST_THREADS = 2;
const THREAD_DIED =
  'the thread that read a request body died; if it had too little memory, lower ROLLCALL_BODY_LIMIT_BYTES';

/**
 * Reads large bodies away from the event loop. How many wait, and so how long, is bounded by the memory that bodies may
 * take (see BodyMemory): 192 MiB of them by default, of which a thread reads the worst at some 10 MiB a second.
 */
export class BodyThreads {
  readonly #pool = new WorkerPool(() => new BodyWorker(), { permits: MOST_THREADS, permitsPerKey: 1 });
  readonly #log: Logger;
  #isClosed = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Reads the body, whose bytes leave it. @throws ServiceError 503 when a thread dies or the server stops */
  async read(project: ProjectKey, name: LargeBodyName, body: ReceivedBody): Promise<BodyReading> {
    if (this.#isClosed) throw stopping();
    return this.#pool.run(project, (worker) => this.#readOn(worker, { name, parts: body.takeParts() }));
  }

  /** Rejects what is not read yet, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pool.rejectWaiting(stopping());
    await this.#pool.close();
  }

  async #readOn(worker: BodyWorker, task: BodyTask): Promise<BodyReading> {
    try {
      return await worker.read(task);
    } catch (err) {
      if (!worker.isAlive && !this.#isClosed) this.#log.error({ err }, THREAD_DIED);
      throw err;
    }
  }
}
