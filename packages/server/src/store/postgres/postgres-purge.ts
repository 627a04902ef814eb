import { setTimeout as delay } from 'node:timers/promises';
import { Repeated } from '../../concurrency/repeated.ts';
import { restAfter } from '../purge-rest.ts';
import { planEachTime, type Row } from './connections/postgres-connection.ts';
import type { PostgresDatabase } from './connections/postgres-database.ts';
import { ConversationPurge } from './conversation/postgres-conversation-purge.ts';
import { TABLES_OF_PROJECT } from './postgres-owned-tables.ts';

/** Rows of a deleted project that are removed in one transaction, so that no write waits long for it. */
const SLICE_ROWS = 2_000;
/** How often the purge checks for what another process, or this one before a restart, left behind. */
const CHECK_EVERY_MS = 60_000;
/** Until then a write that began before the deletion may still commit: its rows are removed once more after it. */
const OVER_AFTER = '15 minutes';

/** A project that no other process is purging. */
const TAKE = `
  SELECT project_id, deleted_at < now() - interval '${OVER_AFTER}' FROM deleted_projects
  WHERE NOT emptied OR deleted_at < now() - interval '${OVER_AFTER}'
  ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED`;
const FORGET = 'DELETE FROM deleted_projects WHERE project_id = $1';
const NOTE_EMPTIED = 'UPDATE deleted_projects SET emptied = TRUE WHERE project_id = $1';

// In the order of the key, so that they are found by its index: a scan for any rows of the project
// would read those of all others. Joined by the whole key, or a plan for any project takes all of it to be a few rows.
const slice = (table: string, key: string) =>
  planEachTime(`
  WITH gone AS (
    DELETE FROM ${table} WHERE (project_id, ${key}) IN (
      SELECT project_id, ${key} FROM ${table} WHERE project_id = $1 ORDER BY ${key} LIMIT ${SLICE_ROWS})
    RETURNING 1)
  SELECT count(*) FROM gone`);

const SLICES = TABLES_OF_PROJECT.map(([table, key]) => slice(table, key));

/**
 * Removes what deleted projects, groups and threads left, as long as there is some. Any process does it, and rests after each
 * slice.
 */
export class Purge {
  readonly #database: PostgresDatabase;
  readonly #conversations: ConversationPurge;
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #slices = new Repeated(() => this.#purgeSlice());

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#conversations = new ConversationPurge(database);
    this.#timer = setInterval(() => this.start(), CHECK_EVERY_MS).unref();
    this.start();
  }

  /** Call it after a deletion. */
  start(): void {
    void this.#slices.request();
  }

  /** Lets the slice under way finish. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    await this.#slices.close();
  }

  async #purgeSlice(): Promise<void> {
    const { signal } = this.#closing;
    try {
      const begin = performance.now();
      const hasMore = (await purgeSlice(this.#database)) || (await this.#conversations.run());
      if (hasMore) void this.#slices.request();
      await delay(restAfter(performance.now() - begin), undefined, { signal });
    } catch {
      // The server is away, for example, and the next check comes soon; or this is closed.
    }
  }
}

/** A slice of a deleted project. False when there is nothing to remove now. */
export function purgeSlice(database: PostgresDatabase): Promise<boolean> {
  return database.transaction({}, async (transaction) => {
    const [[taken]] = await transaction.run([TAKE]);
    if (taken === undefined) return false;
    const [project, isOver] = taken;
    for (const sql of SLICES) {
      const [[removed]] = await transaction.run([sql, project]);
      if (Number((removed as Row)[0]) === 0) continue;
      await transaction.commit();
      return true;
    }
    await transaction.commit([[isOver === true ? FORGET : NOTE_EMPTIED, project]]);
    return true;
  });
}
