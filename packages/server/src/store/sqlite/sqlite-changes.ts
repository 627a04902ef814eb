import type { ProjectKey } from '../../values/project-key.ts';
import { actorOf, actorText } from '../actor-text.ts';
import type { Change } from '../changes/changes.ts';
import { storedParts } from '../changes/stored-changes.ts';
import { CHANGE_EPOCH } from '../new-epoch.ts';
import {
  CHANGES_READ_MAX_BYTES,
  type ChangeReading,
  type ChangeRecord,
  EXTENT_PROJECTS_MAX,
  REMOVED_AT_ONCE,
} from '../ports/changes.ts';
import type { WriteContext } from '../write-context.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Reads } from './sqlite-methods.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const COLUMNS = 'position, at, actor, request_id, changes, octet_length(changes)';
/** Projects whose oldest records one step of the removal reads: some milliseconds, in which no other write is done. */
const PROJECTS_AT_ONCE = 50;

type RecordRow = [
  position: number,
  at: number,
  actor: string,
  requestId: string | null,
  changes: string,
  bytes: number,
];

/** Reads of recorded changes, on the main thread. Their positions are the order of commits, because there is one writer. */
export function changeReads({ prepare }: SqliteReader): Reads<'changes'> {
  const epoch = prepare<[string]>(
    `SELECT lower(hex(value)) FROM store_secrets WHERE name = '${CHANGE_EPOCH}'`,
  );
  const newest = prepare<[number | null]>('SELECT max(position) FROM changes WHERE project_no = ?');
  const oldest = prepare<[number | null]>('SELECT min(position) FROM changes WHERE project_no = ?');
  const list = prepare<RecordRow>(`
    SELECT ${COLUMNS} FROM changes WHERE project_no = ? AND position > ? ORDER BY position LIMIT ?`);
  const ofTopics = prepare<[number]>(`
    SELECT position FROM changes INDEXED BY changes_with_topic
    WHERE project_no = ? AND position > ? AND topic IN (SELECT value FROM json_each(?)) ORDER BY position LIMIT ?`);
  const one = prepare<RecordRow>(`SELECT ${COLUMNS} FROM changes WHERE project_no = ? AND position = ?`);
  // Two lookups for each project; positions have no gaps.
  const extent = prepare<[projects: number, records: number | null, oldestAt: number | null]>(`
    SELECT count(*), sum(newest - oldest.position + 1), min(oldest.at) FROM (
      SELECT p.project_no, (SELECT max(c.position) FROM changes c WHERE c.project_no = p.project_no) AS newest,
        (SELECT min(c.position) FROM changes c WHERE c.project_no = p.project_no) AS first
      FROM projects p LIMIT ${EXTENT_PROJECTS_MAX}) AS found
    LEFT JOIN changes oldest ON oldest.project_no = found.project_no AND oldest.position = found.first`);
  const projects = prepare<[number]>('SELECT count(*) FROM projects');
  const project = prepare<[number]>('SELECT 1 FROM projects WHERE project_no = ?');
  const newestOf = (project: ProjectKey) => newest.get(project)?.[0] ?? 0;
  const reading = (key: ProjectKey, rows: Iterable<RecordRow | undefined>): ChangeReading => ({
    epoch: `${epoch.get()?.[0]}${key}`,
    newest: newestOf(key),
    projectExists: project.get(key) !== undefined,
    removedTo: (oldest.get(key)?.[0] ?? 1) - 1,
    records: recordsOf(rows),
  });
  return {
    async read(project, after, limit) {
      return reading(project, list.iterate(project, after, limit));
    },
    async readTopics(project, topics, after, limit) {
      const positions = ofTopics.all(project, after, JSON.stringify(topics), limit);
      return reading(
        project,
        positions.values().map(([position]) => one.get(project, position)),
      );
    },
    async order(written) {
      return { newest: [...written].map((project) => [project, newestOf(project)]), hasMore: false };
    },
    async extent() {
      const [read = 0, records, oldestAt = null] = extent.get() ?? [];
      const share = read < EXTENT_PROJECTS_MAX ? 1 : (projects.get()?.[0] ?? read) / read;
      return { records: Math.round((records ?? 0) * share), oldestAt };
    },
  };
}

/** As many as a reading may have. */
function recordsOf(rows: Iterable<RecordRow | undefined>): ChangeRecord[] {
  const records: ChangeRecord[] = [];
  let left = CHANGES_READ_MAX_BYTES;
  for (const row of rows) {
    // A record that was removed since its position was found: another process removes expired ones.
    if (row === undefined) continue;
    const [position, at, actor, requestId, changes, bytes] = row;
    records.push({ position, at, actor: actorOf(actor), requestId, changes: JSON.parse(changes) });
    left -= bytes;
    if (left < 0) break;
  }
  return records;
}

/** Writes of recorded changes, on the writer's thread. */
export class ChangeWrites {
  readonly #statements;
  /** The first project whose old records the next step removes; also of the next sweep, after a step that failed. */
  #removeFrom = 0;

  constructor({ prepare }: SqliteConnection) {
    this.#statements = {
      insert: prepare(`
        INSERT INTO changes (project_no, position, at, actor, request_id, changes, topic)
        VALUES (?1, coalesce((SELECT max(position) FROM changes WHERE project_no = ?1), 0) + 1, ?2, ?3, ?4, ?5, ?6)`),
      projects: prepare<[project: number]>(
        `SELECT project_no FROM projects WHERE project_no >= ? ORDER BY project_no LIMIT ${PROJECTS_AT_ONCE}`,
      ),
      lastExpired: prepare<[position: number | null]>(`
        SELECT max(position) FROM (
          SELECT position, at FROM changes WHERE project_no = ? ORDER BY position LIMIT ${REMOVED_AT_ONCE})
        WHERE at < ?`),
      remove: prepare(`
        DELETE FROM changes WHERE project_no = ?1 AND position <= ?2
          AND position < (SELECT max(position) FROM changes WHERE project_no = ?1)`),
    };
  }

  /** Records what a write changed, in its transaction. Every write's changes pass here. */
  record(project: ProjectKey, changes: readonly Change[], { now, actor, requestId }: WriteContext): void {
    for (const { text, topic } of storedParts(changes))
      this.#statements.insert.run(project, now, actorText(actor), requestId, text, topic);
  }

  /** Goes on where the step before has ended. */
  removeBefore(time: number): boolean {
    const { projects, lastExpired, remove } = this.#statements;
    const numbers = projects.all(this.#removeFrom).map(([project]) => project);
    let removed = 0;
    for (const project of numbers) {
      this.#removeFrom = project + 1;
      const [last = null] = lastExpired.get(project, time) ?? [];
      if (last !== null) removed += remove.run(project, last);
      if (removed < REMOVED_AT_ONCE) continue;
      // It may have more of them.
      this.#removeFrom = project;
      return true;
    }
    if (numbers.length === PROJECTS_AT_ONCE) return true;
    this.#removeFrom = 0;
    return false;
  }
}
