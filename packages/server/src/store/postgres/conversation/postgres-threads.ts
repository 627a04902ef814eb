import type { ThreadStore } from '../../ports/threads.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { FOUND_THREAD } from './postgres-conversation-rows.ts';
import { THREAD_COLUMNS, threadParts, toThread } from './postgres-threads-columns.ts';
import { listThreads } from './postgres-threads-list.ts';
import { deleteThread, markThreadSeen, putThread } from './postgres-threads-writes.ts';

const FIND = `SELECT ${THREAD_COLUMNS.sql} ${FOUND_THREAD} ${threadParts('$3::text')}`;

export function threadStore({ database, purge }: PostgresEngine): ThreadStore {
  return {
    find: (project, id, viewer) => database.readOne(toThread, FIND, project, id, viewer),
    list: (...parameters) => listThreads(database, ...parameters),
    put: (...parameters) => putThread(database, ...parameters),
    async delete(...parameters) {
      const outcome = await deleteThread(database, ...parameters);
      if (outcome.kind === 'deleted') purge.start();
      return outcome;
    },
    markSeen: (...parameters) => markThreadSeen(database, ...parameters),
  };
}
