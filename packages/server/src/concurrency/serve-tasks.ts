import { parentPort } from 'node:worker_threads';

interface TaskThread<Answer> {
  /** The buffers of an answer that are moved to the main thread. Default: none. */
  transferOf?(answer: Answer): ArrayBuffer[];
  /** Releases what the tasks use, before the thread ends. */
  close?(): Promise<void>;
}

/** Runs on the thread of a `TaskWorker`: answers each task with one message, until the message `close`. An error of `run` ends the thread. */
export function serveTasks<Task, Answer>(
  run: (task: Task) => Answer | Promise<Answer>,
  { transferOf = () => [], close }: TaskThread<Answer> = {},
): void {
  const port = parentPort;
  if (port === null) throw new Error('this module runs on a worker thread');
  port.on('message', async (message: Task | 'close') => {
    if (message !== 'close') {
      const answer = await run(message);
      port.postMessage(answer, transferOf(answer));
      return;
    }
    await close?.();
    port.close();
  });
}
