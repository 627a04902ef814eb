/**
 * Loaded into a server of a test by NODE_OPTIONS: ends the threads that are told something called THREAD_KILLER_KNOWN_BY, and
 * them alone, as soon as the file named by THREAD_KILLER_FILE is there, in the way that is written in it.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { workerData } from 'node:worker_threads';

const LOOK_EVERY_MS = 2;

const ways: Readonly<Record<string, () => void>> = {
  throw() {
    throw new Error('ended by the test');
  },
  exit: () => process.exit(0),
  /** More than a thread's part of the memory. */
  fill() {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, index) => index + kept.length / 3));
  },
};

function look(path: string): void {
  let way: string;
  try {
    way = readFileSync(path, 'utf8');
  } catch {
    return;
  }
  ways[way]?.();
}

const { THREAD_KILLER_FILE: path, THREAD_KILLER_KNOWN_BY: knownBy = '' } = process.env;
const isMeant = (workerData as Record<string, unknown> | null)?.[knownBy] !== undefined;
if (isMeant && path !== undefined) setInterval(() => look(path), LOOK_EVERY_MS).unref();
