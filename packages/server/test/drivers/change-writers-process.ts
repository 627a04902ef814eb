/** Runs the writers of another process, which its parent names. */
import process from 'node:process';
import { runWriters, type WriterOptions } from './change-writers.ts';

process.once('message', async (options: WriterOptions) => {
  process.send?.(await runWriters(options));
  process.disconnect?.();
});
