/**
 * Loaded into a server of a test by NODE_OPTIONS. It ends the threads whose worker data has the key
 * THREAD_KILLER_WORKER_DATA_KEY, as soon as the file THREAD_KILLER_FILE exists, in the way that the file names.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { workerData } from 'node:worker_threads';

const POLL_MS = 2;

const ways: Readonly<Record<string, () => void>> = {
  throw() {
    throw new Error('ended by the test');
  },
  exit: () => process.exit(0),
  /** Allocates more than the memory limit of a thread. */
  fill() {
    const allocated: number[][] = [];
    for (;;) allocated.push(Array.from({ length: 100_000 }, (_, index) => index + allocated.length / 3));
  },
};

function endIfOrdered(path: string): void {
  let way: string;
  try {
    way = readFileSync(path, 'utf8');
  } catch {
    return;
  }
  ways[way]?.();
}

const { THREAD_KILLER_FILE: path, THREAD_KILLER_WORKER_DATA_KEY: workerDataKey = '' } = process.env;
const isTarget = (workerData as Record<string, unknown> | null)?.[workerDataKey] !== undefined;
if (isTarget && path !== undefined) setInterval(() => endIfOrdered(path), POLL_MS).unref();
