import type { ProjectKey } from '../../values/project-key.ts';
import type { ThreadStore } from '../ports/threads.ts';
import type { Attempt, WriteTarget } from './connections/postgres-database.ts';
import { FOUND_THREAD } from './postgres-conversation-rows.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { THREAD_COLUMNS, threadParts, toThread } from './postgres-threads-columns.ts';
import { listThreads } from './postgres-threads-list.ts';
import { deleteThread, markThreadSeen, putThread } from './postgres-threads-writes.ts';

const FIND = `SELECT ${THREAD_COLUMNS.sql} ${FOUND_THREAD} ${threadParts('$3::text')}`;

/** The row of a thread: its writes, and those of its messages, are applied one after the other. */
export const threadRow = (project: ProjectKey, id: string): WriteTarget => ({ project, row: `thread ${id}` });

/** Threads (see the port). */
export function threadStore({ database, purge }: PostgresEngine): ThreadStore {
  return {
    async find(project, id, viewer) {
      const [row] = await database.read(FIND, project, id, viewer);
      return row === undefined ? null : toThread(row);
    },
    list: (project, request) => listThreads(database, project, request),
    put: (project, id, write, context) =>
      database.operation(
        (attempt) => putThread(attempt, project, id, write, context),
        threadRow(project, id),
      ),
    async delete(project, id, context) {
      const run = (attempt: Attempt) => deleteThread(attempt, project, id, context);
      const outcome = await database.operation(run, threadRow(project, id));
      if (outcome.kind === 'deleted') purge.start();
      return outcome;
    },
    markSeen: (project, id, mark, context) =>
      database.operation(
        (attempt) => markThreadSeen(attempt, project, id, mark, context),
        threadRow(project, id),
      ),
  };
}
