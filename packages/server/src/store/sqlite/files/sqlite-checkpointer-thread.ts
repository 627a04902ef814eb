/** The checkpointer's thread: copies the write-ahead log into the store's file while the writer's thread goes on. */
import { fdatasyncSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { serveTasks } from '../../../concurrency/serve-tasks.ts';
import { changedFiles, type FileIdentities } from './sqlite-files.ts';

export interface CheckpointerOptions {
  readonly file: string;
  readonly files: FileIdentities;
  /** The descriptor by which the store's file is flushed: it is open until all connections of the process to the file are closed. */
  readonly descriptor: number;
}

/**
 * A PASSIVE checkpoint: it copies what no reader needs any more and waits for nobody. Each has a connection of its own, which
 * costs about a millisecond, so that no connection outlives a file that was replaced.
 */
function copyLog({ file, files, descriptor }: CheckpointerOptions): void {
  // A connection to other files would make a log or an index of its own beside those that the writer has open.
  if (changedFiles(files) !== null) return;
  // The pragmas of a connection that writes rows would wait for the writer's transaction.
  using database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(PASSIVE)');
  // SQLite flushes the file only when it has copied the whole log. The writer copies the rest, and its flush would write all of this.
  fdatasyncSync(descriptor);
}

serveTasks((_task: 'copy') => {
  try {
    copyLog(workerData as CheckpointerOptions);
  } catch {
    // A full disk, for example. The log retains what is in it, and the writer copies it or tries again later.
  }
});
