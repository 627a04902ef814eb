import type { ProjectKey } from '../../values/project-key.ts';
import type { Topic } from '../changes/change-topics.ts';
import type { Change } from '../changes/changes.ts';
import type { Actor } from '../write-context.ts';

/** The changes of one write. A write with very many changes is recorded in several parts, which follow each other. */
export interface ChangeRecord {
  /** Grows with each record of a project; never used again. */
  readonly position: number;
  readonly at: number;
  readonly actor: Actor;
  readonly requestId: string | null;
  readonly changes: readonly Change[];
}

/** Records of a project, of one state of the store. */
export interface ChangeReading {
  /** Names the project's positions: lower-case letters and digits. Another store, and another project of the same ID, has another one. */
  readonly epoch: string;
  /** The position of the newest record; 0 where there was none. */
  readonly newest: number;
  /** False once the project was removed: its records go with it, sooner or later. */
  readonly projectExists: boolean;
  /** The records up to this position were removed. */
  readonly removedTo: number;
  readonly records: readonly ChangeRecord[];
}

/** Records that were given their positions. */
interface ChangeOrder {
  /** The newest position of each project that is concerned. */
  readonly newest: readonly (readonly [project: ProjectKey, position: number])[];
  /** Committed records are left without a position. */
  readonly hasMore: boolean;
}

/** How much is recorded. */
interface ChangeExtent {
  readonly records: number;
  /** When the oldest record was made; null where there is none. */
  readonly oldestAt: number | null;
}

/** Of so many projects {@link ChangeStore.extent} reads the records. */
export const EXTENT_PROJECTS_MAX = 1_000;

/**
 * The recorded changes: each write records its changes in the transaction that makes them.
 *
 * A record is read once it has a position. Where the engine cannot give it in that transaction, {@link ChangeStore.order} does:
 * - A record never appears at or before a position that was read.
 * - The records of one write follow each other.
 * - Of two writes of one resource the later commit stands after the other one, and so does a write that was sent after the other
 *   one was acknowledged.
 */
export interface ChangeStore {
  /** The records after that position, in its order: at most `limit`, and fewer when they exceed 1 MiB of JSON. */
  read(project: ProjectKey, after: number, limit: number): Promise<ChangeReading>;
  /**
   * The same of records with one of these topics ({@link TOPICS_AT_ONCE} at most). Costs a lookup for each topic, or a short
   * index entry for each record after that position, and what it answers: no other record is read.
   */
  readTopics(
    project: ProjectKey,
    topics: readonly Topic[],
    after: number,
    limit: number,
  ): Promise<ChangeReading>;
  /** Gives positions to some 1,000 committed records without one, of all projects. `written` are projects that are concerned anyway. */
  order(written: Iterable<ProjectKey>): Promise<ChangeOrder>;
  /** How much is recorded, in all projects. Its cost is bounded: with very many projects or records it is an estimate. */
  extent(): Promise<ChangeExtent>;
  /**
   * Removes records of before that time, of all projects, some at a time ({@link REMOVED_AT_ONCE} of each project at most): true
   * when more may be left. A record that stands before a removed one is removed too. The newest record of a project may stay, so that
   * no position is used again.
   */
  removeBefore(time: number): Promise<boolean>;
}

/** Most records of one project that one step removes, so that other writes hardly wait. */
export const REMOVED_AT_ONCE = 1_000;

/** Most topics of one reading. */
export const TOPICS_AT_ONCE = 500;

/** Most bytes of JSON of one reading, unless a single record exceeds it: on the embedded engine some milliseconds. */
export const CHANGES_READ_MAX_BYTES = 256 * 1_024;
