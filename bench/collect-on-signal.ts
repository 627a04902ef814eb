/** Loaded before a server: collects garbage on SIGUSR2, and writes what is left to the file that `BENCH_MEMORY_FILE` names. */
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const file = process.env.BENCH_MEMORY_FILE;
if (file !== undefined && isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', () => {
    collect();
    collect();
    writeFileSync(file, JSON.stringify(process.memoryUsage()));
  });
}
