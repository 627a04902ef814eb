import type { Row } from './connections/postgres-connection.ts';
import type { PostgresDatabase } from './connections/postgres-database.ts';

/** Rows of a deleted project that are removed in one transaction, so that nothing waits long for it. */
const SLICE_ROWS = 2_000;
/** How often it is looked for projects that another process, or an earlier life of this one, left behind. */
const LOOK_EVERY_MS = 60_000;
/** Until then a write that began before the deletion may still commit: its rows are looked for once more after it. */
const SETTLED_AFTER = '15 minutes';

/** One that no other process is at work on. */
const TAKE = `
  SELECT project_id, deleted_at < now() - interval '${SETTLED_AFTER}' FROM deleted_projects
  WHERE NOT emptied OR deleted_at < now() - interval '${SETTLED_AFTER}'
  ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED`;
const FORGET = 'DELETE FROM deleted_projects WHERE project_id = $1';
const NOTE_EMPTIED = 'UPDATE deleted_projects SET emptied = TRUE WHERE project_id = $1';

// In the order of the key, so that they are found by its index: a scan for the first rows of a project that come would
// step over those of all others. Joined by the whole key, or a plan for any project takes all of it to be a few rows.
const slice = (table: string, key: string) => `
  WITH gone AS (
    DELETE FROM ${table} WHERE (project_id, ${key}) IN (
      SELECT project_id, ${key} FROM ${table} WHERE project_id = $1 ORDER BY ${key} LIMIT ${SLICE_ROWS})
    RETURNING 1)
  SELECT count(*) FROM gone`;

/** Sessions are not among them: they end by themselves within a day. */
const SLICES = [
  slice('memberships', 'group_id, user_id'),
  slice('durable_pairs', 'group_id, user_id, region_hash, pair_hash'),
  slice('durable_presence', 'group_id, user_id, region_hash'),
  slice('durable_usage', 'group_id, user_id'),
  slice('groups', 'id'),
  slice('users', 'id'),
  slice('user_counts', 'slot'),
];

/** Removes what deleted projects left, as long as there is some: whichever process lives does it. */
export class Purge {
  readonly #database: PostgresDatabase;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#timer = setInterval(() => this.start(), LOOK_EVERY_MS).unref();
    this.start();
  }

  start(): void {
    if (this.#closed) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Lets the slice under way finish. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#closed && (await purgeSlice(this.#database))) await new Promise(setImmediate);
    } catch {
      // The server is away, say. There is another look soon.
    }
  }
}

/** False when there is nothing to remove now. */
export function purgeSlice(database: PostgresDatabase): Promise<boolean> {
  return database.operation((attempt) =>
    attempt.transaction('small', async (transaction) => {
      const [[taken]] = await transaction.run([TAKE]);
      if (taken === undefined) return false;
      const [project, isSettled] = taken;
      for (const sql of SLICES) {
        const [[removed]] = await transaction.run([sql, project]);
        if (Number((removed as Row)[0]) === 0) continue;
        await transaction.commit();
        return true;
      }
      await transaction.commit([isSettled === true ? FORGET : NOTE_EMPTIED, project]);
      return true;
    }),
  );
}
