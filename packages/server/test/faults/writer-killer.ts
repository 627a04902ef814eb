/**
 * Loaded into a server of a test by NODE_OPTIONS: ends the thread that writes the store, and it alone, as soon as the
 * file named by WRITER_KILLER_FILE is there, in the way that is written in it.
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

// The writer is told the store's file; no other thread is.
const isWriter = (workerData as { file?: unknown } | null)?.file !== undefined;
const path = process.env.WRITER_KILLER_FILE;
if (isWriter && path !== undefined) setInterval(() => look(path), LOOK_EVERY_MS).unref();
