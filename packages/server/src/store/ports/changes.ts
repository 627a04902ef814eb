import type { ProjectKey } from '../../values/project-key.ts';
import type { Change } from '../changes.ts';
import type { Actor } from '../write-context.ts';

/** What one write changed. A write with very many changes is recorded in several parts. */
export interface ChangeRecord {
  /** Grows with each record of a project; never used again. */
  readonly position: number;
  readonly at: number;
  readonly actor: Actor;
  readonly requestId: string | null;
  readonly changes: readonly Change[];
}

/** What writes changed: each one records its changes in the transaction that makes them. */
export interface ChangeStore {
  /** The records after that position, in its order. */
  list(project: ProjectKey, after: number, limit: number): Promise<ChangeRecord[]>;
  /**
   * Removes records of before that time, of all projects, some at a time: true when more may be left. The newest record
   * of a project may stay, so that no position is used again.
   */
  removeBefore(time: number): Promise<boolean>;
}
