import { setImmediate as nextIteration } from 'node:timers/promises';
import { Semaphore } from '../../concurrency/semaphore.ts';
import type { Change } from '../../store/changes/changes.ts';
import type { ChangeReading, ChangeRecord } from '../../store/ports/changes.ts';
import type { Store } from '../../store/store.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { ServiceError } from '../service-error.ts';
import { type ChangeFilter, matchesChange, matchesRecord } from './change-filter.ts';
import { type ChangePosition, type ChangeStart, positionText } from './change-position.ts';

/** Records that are read and searched at once: a few milliseconds. */
const RECORDS_AT_ONCE = 500;
/** How many chunks are read in one event-loop tick, or at once, by the whole process: other requests wait for so many at most. */
const CHUNKS_AT_ONCE = 4;

interface FoundChange {
  readonly id: string;
  readonly record: ChangeRecord;
  readonly change: Change;
}

/** Some changes, and where they end. */
export interface ChangeChunk {
  readonly found: readonly FoundChange[];
  readonly position: ChangePosition;
  /** The page ends with the newest change. */
  readonly isEnd: boolean;
}

/** The changes of a project, in their order. A process has one feed: its requests, streams and webhooks share the limit. */
export class ChangeFeed {
  readonly #store: Pick<Store, 'changes'>;
  readonly #reading = new Semaphore({ permits: CHUNKS_AT_ONCE });

  constructor(store: Pick<Store, 'changes'>) {
    this.#store = store;
  }

  /** The position after the newest change. */
  async latest(project: ProjectKey): Promise<ChangePosition> {
    const { epoch, newest } = await this.#store.changes.read(project, 0, 0);
    return { epoch, position: newest, index: 0 };
  }

  /** A position to begin at: null is before the oldest change that is stored. @throws ServiceError 410 */
  async begin(project: ProjectKey, from: ChangeStart | null): Promise<ChangePosition> {
    return startIn(await this.#store.changes.read(project, from?.position ?? 0, 1), from);
  }

  /**
   * Searches some hundred records from a position on, or from the oldest where it is null, for at most `limit` changes. Resolves
   * in a later event-loop tick, so that a long search, or many readers, do not stop other requests. The projects alternate.
   * @throws ServiceError 410 where changes after the position were removed, or it is none of this store
   */
  chunk(
    project: ProjectKey,
    from: ChangeStart | null,
    filter: ChangeFilter,
    limit: number,
  ): Promise<ChangeChunk> {
    return this.#reading.run(project, async () => {
      const chunk = await this.#read(project, from, filter, limit);
      await nextIteration();
      return chunk;
    });
  }

  async #read(
    project: ProjectKey,
    from: ChangeStart | null,
    filter: ChangeFilter,
    limit: number,
  ): Promise<ChangeChunk> {
    const reading = await this.#store.changes.read(project, from?.position ?? 0, RECORDS_AT_ONCE);
    let position = startIn(reading, from);
    const { epoch, newest, records } = reading;
    const found: FoundChange[] = [];
    let skipped = position.index;
    for (const record of records) {
      const isMatch = matchesRecord(filter, record);
      for (const [index, change] of record.changes.entries()) {
        if (index < skipped) continue;
        position = positionAfter(epoch, record, index);
        if (!isMatch || !matchesChange(filter, change)) continue;
        found.push({ id: positionText(position), record, change });
        if (found.length === limit) return { found, position, isEnd: position.position === newest };
      }
      skipped = 0;
    }
    return { found, position, isEnd: position.position === newest };
  }
}

/** The last change of a record leads to the record's position, so that a position has one text. */
const positionAfter = (epoch: string, { position, changes }: ChangeRecord, index: number): ChangePosition =>
  index === changes.length - 1
    ? { epoch, position, index: 0 }
    : { epoch, position: position - 1, index: index + 1 };

/** Needs a reading of the record after the position: a position within it is before its last change. @throws ServiceError 410 */
function startIn(reading: ChangeReading, from: ChangeStart | null): ChangePosition {
  const { epoch, newest, removedTo, records } = reading;
  if (from === null) return { epoch, position: removedTo, index: 0 };
  const start = { epoch, ...from };
  const { position, index } = start;
  const isAhead = position > newest || (index > 0 && index >= (records[0]?.changes.length ?? 0));
  if (start.epoch !== epoch || position < removedTo || isAhead) throw changesGone();
  return start;
}

/** The changes after a position are not stored any more, or it is none of this store. */
export const changesGone = () =>
  new ServiceError(
    'invalid_request',
    'the changes after this position are not stored any more, or the store was restored since: take the position after=latest, read everything anew, and go on from that position',
    { status: 410 },
  );
