import { TaskWorker } from '../../concurrency/task-worker.ts';
import { transferable } from '../../store/worker-threads/transferable.ts';
import { bodyUnavailable } from './body-memory.ts';
import type { BodyReading, BodyTask, FromBodyThread } from './body-reading.ts';

/** The main thread's end of a thread that reads bodies. */
export class BodyWorker extends TaskWorker<BodyTask, FromBodyThread> {
  constructor() {
    super(new URL('./body-thread.ts', import.meta.url), (cause) =>
      bodyUnavailable('the thread that read the request body died', cause),
    );
    // A connection waits for each body that is parsed.
    this.unref();
  }

  /** Reads one body, not before the previous one is done. @throws ServiceError 503 when the thread dies, for lack of memory, for example */
  async read(task: BodyTask): Promise<BodyReading> {
    const reading = await this.run(task, transferable(...task.parts));
    if (reading.type === 'failed') throw reading.error;
    return reading;
  }

  override close(): Promise<void> {
    return this.terminate();
  }
}
