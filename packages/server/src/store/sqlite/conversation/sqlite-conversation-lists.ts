import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { columnsOf } from '../../columns.ts';
import { locationKey, locationKeys } from '../presence/sqlite-location-keys.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';

/** The list of all threads of a project. Keys of locations are positive. */
export const ALL = 0;
/** The list of a group's threads. */
export const ofConversation = (conversationNo: number) => -conversationNo;
/** The list of a group's threads that have the location, or the pair of a location, with this key. */
export const within = (conversationNo: number, key: number) => locationKey(`${conversationNo} ${key}`);

/** The keys of all lists that a thread is part of. */
export function listKeys({
  conversationNo,
  location,
}: Pick<ListedThread, 'conversationNo' | 'location'>): Set<number> {
  const keys = location === null ? [] : [...locationKeys(location)];
  const inGroup = keys.map((key) => within(conversationNo, key));
  return new Set([ALL, ofConversation(conversationNo), ...keys, ...inGroup]);
}

/** The fields that decide in which lists a thread is, and at which position. */
interface ListedThread {
  readonly threadNo: number;
  readonly conversationNo: number;
  readonly location: Json | null;
  readonly resolvedAt: number | null;
  readonly createdAt: number;
  readonly lastMessageAt: number | null;
}

export const LISTED = columnsOf<ListedThread>({
  threadNo: 'thread_no',
  conversationNo: 'conversation_no',
  location: 'location',
  resolvedAt: 'resolved_at',
  createdAt: 'created_at',
  lastMessageAt: 'last_message_at',
});

const activityOf = ({ lastMessageAt, createdAt }: ListedThread) => lastMessageAt ?? createdAt;

/** Writes of the lists of threads, on the writer's thread. */
export class ThreadLists {
  readonly #statements;

  constructor({ prepare }: SqliteConnection) {
    const POSITION = 'list_key = ? AND project_no = ? AND is_resolved = ? AND activity = ? AND thread_no = ?';
    this.#statements = {
      add: prepare(
        'INSERT INTO thread_lists (list_key, project_no, is_resolved, activity, thread_no) VALUES (?, ?, ?, ?, ?)',
      ),
      remove: prepare(`DELETE FROM thread_lists WHERE ${POSITION}`),
      move: prepare(`UPDATE thread_lists SET is_resolved = ?, activity = ? WHERE ${POSITION}`),
    };
  }

  /** Lists a thread as it is `after`, in place of as it was `before`; null where it is not there. */
  replace(project: ProjectKey, before: ListedThread | null, after: ListedThread | null): void {
    const left = before === null ? new Set<number>() : listKeys(before);
    const entered = after === null ? new Set<number>() : listKeys(after);
    const [from, to] = [positionOf(project, before), positionOf(project, after)];
    for (const key of left.difference(entered)) this.#statements.remove.run(key, ...from);
    for (const key of entered.difference(left)) this.#statements.add.run(key, ...to);
    if (from.join() === to.join()) return;
    const [, isResolved = 0, activity = 0] = to;
    for (const key of left.intersection(entered))
      this.#statements.move.run(isResolved, activity, key, ...from);
  }
}

function positionOf(project: ProjectKey, thread: ListedThread | null): ProjectKey[] {
  if (thread === null) return [];
  return [project, Number(thread.resolvedAt !== null), activityOf(thread), thread.threadNo];
}
