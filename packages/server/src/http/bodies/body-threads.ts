import type { Logger } from 'pino';
import type { ProjectKey } from '../../store/store.ts';
import { bodyUnavailable } from './body-memory.ts';
import type { BodyReading, BodyTask } from './body-reading.ts';
import { BodyWorker } from './body-worker.ts';
import type { LargeBodyName } from './large-bodies.ts';
import type { ReceivedBody } from './received-body.ts';

/**
 * How many bodies are read at once, each on a thread of its own, one of each project at most: one project alone never
 * occupies all threads. Reading 32 MiB takes a thread up to some seconds and half a GB of memory.
 */
const MOST_THREADS = 2;
/** A thread that has had nothing to do for so long is ended, and its memory given back. */
const IDLE_MS = 10_000;

const THREAD_DIED =
  'the thread that read a request body died; if it had too little memory, lower ROLLCALL_BODY_LIMIT_BYTES';

interface Task {
  readonly project: ProjectKey;
  readonly name: LargeBodyName;
  readonly body: ReceivedBody;
  resolve(reading: BodyReading): void;
  reject(error: Error): void;
}

/**
 * Reads large bodies away from the event loop. How many wait, and so how long, is bounded by the memory that bodies may
 * take (see BodyMemory): 192 MiB of them by default, of which a thread reads the worst at some 10 MiB a second.
 */
export class BodyThreads {
  /** Tasks that wait, by project; the project that has waited longest for a thread is the first. */
  readonly #waiting = new Map<ProjectKey, Task[]>();
  readonly #busy = new Set<ProjectKey>();
  readonly #idle = new Map<BodyWorker, NodeJS.Timeout>();
  readonly #workers = new Set<BodyWorker>();
  readonly #log: Logger;
  #isClosed = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Reads the body, whose bytes leave it. @throws ServiceError 503 when a thread dies or the server stops */
  read(project: ProjectKey, name: LargeBodyName, body: ReceivedBody): Promise<BodyReading> {
    return new Promise((resolve, reject) => {
      const task = { project, name, body, resolve, reject };
      const ofProject = this.#waiting.get(project);
      if (ofProject === undefined) this.#waiting.set(project, [task]);
      else ofProject.push(task);
      this.#startNext();
    });
  }

  /** Rejects what is not read yet, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const limit of this.#idle.values()) clearTimeout(limit);
    this.#startNext();
    await Promise.all([...this.#workers].map((worker) => worker.close()));
  }

  #startNext(): void {
    for (let task = this.#takeNext(); task !== undefined; task = this.#takeNext()) void this.#run(task);
  }

  /** The next task that may begin, round robin: a project whose task is taken goes to the end of the list. */
  #takeNext(): Task | undefined {
    if (this.#busy.size >= MOST_THREADS && !this.#isClosed) return undefined;
    for (const [project, tasks] of this.#waiting) {
      if (this.#busy.has(project) && !this.#isClosed) continue;
      const task = tasks.shift();
      this.#waiting.delete(project);
      if (tasks.length > 0) this.#waiting.set(project, tasks);
      return task;
    }
    return undefined;
  }

  async #run({ project, name, body, resolve, reject }: Task): Promise<void> {
    if (this.#isClosed) return reject(bodyUnavailable('the server is stopping'));
    this.#busy.add(project);
    try {
      const worker = this.#takeIdle() ?? this.#start();
      resolve(await this.#readOn(worker, { name, parts: body.takeParts() }));
    } catch (error) {
      reject(error as Error);
    }
    this.#busy.delete(project);
    this.#startNext();
  }

  async #readOn(worker: BodyWorker, task: BodyTask): Promise<BodyReading> {
    try {
      return await worker.read(task);
    } catch (err) {
      if (!worker.isAlive && !this.#isClosed) this.#log.error({ err }, THREAD_DIED);
      throw err;
    } finally {
      if (worker.isAlive) this.#keep(worker);
      else this.#workers.delete(worker);
    }
  }

  #start(): BodyWorker {
    const worker = new BodyWorker();
    this.#workers.add(worker);
    return worker;
  }

  /** The most recently used one, so that threads which are not needed become idle long enough to end. */
  #takeIdle(): BodyWorker | undefined {
    for (const [worker, limit] of [...this.#idle].reverse()) {
      clearTimeout(limit);
      this.#idle.delete(worker);
      if (worker.isAlive) return worker;
      this.#workers.delete(worker);
    }
    return undefined;
  }

  #keep(worker: BodyWorker): void {
    const end = () => {
      this.#idle.delete(worker);
      this.#workers.delete(worker);
      void worker.close();
    };
    this.#idle.set(worker, setTimeout(end, IDLE_MS).unref());
  }
}
