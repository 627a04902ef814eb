import type { ProjectKey } from '../../values/project-key.ts';
import { actorOf, actorText } from '../actor-text.ts';
import { type Change, storedTexts } from '../changes.ts';
import type { ChangeRecord } from '../ports/changes.ts';
import type { WriteContext } from '../write-context.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { SqliteReader } from './sqlite-reader.ts';

/** Most records of a project that are looked at, and removed, in one transaction. */
const REMOVED_AT_ONCE = 1_000;

/** Reads of recorded changes, on the main thread. */
export function changeReads(reader: SqliteReader) {
  const list = reader.prepare(`
    SELECT position, at, actor, request_id, changes FROM changes
    WHERE project_no = ? AND position > ? ORDER BY position LIMIT ?`);
  return {
    async list(project: ProjectKey, after: number, limit: number): Promise<ChangeRecord[]> {
      return list.all(project, after, limit).map((row) => ({
        position: row[0] as number,
        at: row[1] as number,
        actor: actorOf(row[2] as string),
        requestId: row[3] as string | null,
        changes: JSON.parse(row[4] as string),
      }));
    },
  };
}

/** Writes of recorded changes, on the writer's thread. */
export class ChangeWrites {
  readonly #insert;
  readonly #lastPosition;
  /** The last position of each project that the transaction has written to. */
  readonly #positions = new Map<ProjectKey, number>();
  readonly #projects;
  readonly #lastExpired;
  readonly #remove;

  constructor(connection: SqliteConnection) {
    this.#insert = connection.prepare(
      'INSERT INTO changes (project_no, position, at, actor, request_id, changes) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#lastPosition = connection.prepare('SELECT max(position) FROM changes WHERE project_no = ?');
    this.#projects = connection.prepare(
      'SELECT project_no FROM projects WHERE project_no > ? ORDER BY project_no',
    );
    this.#lastExpired = connection.prepare(`
      SELECT max(position), count(*) FROM (
        SELECT position, at FROM changes WHERE project_no = ? ORDER BY position LIMIT ${REMOVED_AT_ONCE})
      WHERE at < ?`);
    this.#remove = connection.prepare(`
      DELETE FROM changes WHERE project_no = ?1 AND position <= ?2
        AND position < (SELECT max(position) FROM changes WHERE project_no = ?1)`);
  }

  /** Call it when a transaction begins: another process may have recorded changes since the one before. */
  begin(): void {
    this.#positions.clear();
  }

  /** Records what a write changed, in its transaction. Every write's changes pass here. */
  record(project: ProjectKey, changes: readonly Change[], { now, actor, requestId }: WriteContext): void {
    for (const text of storedTexts(changes)) {
      const position = this.#nextPosition(project);
      this.#insert.run(project, position, now, actorText(actor), requestId, text);
    }
  }

  /** The position of a write that is rolled back is used by none. */
  #nextPosition(project: ProjectKey): number {
    const last = this.#positions.get(project) ?? this.#lastPosition.get(project)?.[0] ?? 0;
    const position = (last as number) + 1;
    this.#positions.set(project, position);
    return position;
  }

  removeBefore(time: number): boolean {
    let removed = 0;
    for (const [project = 0] of this.#projects.all(0)) {
      const [last] = this.#lastExpired.get(project, time) as [number | null, number];
      if (last !== null) removed += this.#remove.run(project, last);
      if (removed >= REMOVED_AT_ONCE) return true;
    }
    return false;
  }
}
