import type { Logger } from 'pino';
import type { Broker, Notification } from '../../broker/broker.ts';
import type { ChangeFeed } from '../../core/changes/change-feed.ts';
import type { ChangeFilter } from '../../core/changes/change-filter.ts';
import type { ChangePosition } from '../../core/changes/change-position.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import type { Clock } from '../../core/clock.ts';
import type { Store } from '../../store/store.ts';
import type { Beginnings } from '../sessions/beginnings.ts';
import type { EventSession } from '../sessions/event-session.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
import type { SessionRequest } from '../sessions/stream-request.ts';
import { ChangeReader } from './change-reader.ts';

interface Parts {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly broker: Broker;
  readonly record: RecordFollower;
  readonly clock: Clock;
  readonly log: Logger;
  readonly beginnings: Beginnings;
}

/**
 * All streams of changes of this process. A notification makes the readers of a project read on. One can be lost; so once a second
 * they also read on where the record of the project, which {@link OpenStreams} follow, has a newer position.
 */
export class ChangeHub {
  readonly #parts: Parts;
  readonly #readers = new Set<ChangeReader>();
  readonly #streams: OpenStreams<EventSession>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#streams = new OpenStreams(parts, {
      tick: () => this.#tick(),
      onChange: (change) => this.#onChange(change),
    });
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Adds a reader from a position, or from the oldest change where it is null. @throws ServiceError 410 */
  async open(
    request: SessionRequest,
    from: ChangePosition | null,
    filter: ChangeFilter,
  ): Promise<EventSession> {
    const { changes, broker, log, beginnings } = this.#parts;
    const { project } = request.caller;
    using unfinished = new DisposableStack();
    // First: what is recorded from now on is notified.
    const unfollow = unfinished.adopt(broker.follow({ type: 'changes', project }), (end) => end());
    const position = await changes.begin(project, from);
    this.#streams.requireOpen();
    unfinished.move();
    const reader = new ChangeReader(request, position, filter, {
      feed: changes,
      log,
      beginnings,
      ended: () => {
        unfollow();
        this.#ended(reader);
      },
    });
    this.#readers.add(reader);
    this.#streams.add(reader.session);
    return reader.session;
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#streams.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.#streams.close();
  }

  #ended(reader: ChangeReader): void {
    this.#readers.delete(reader);
    this.#streams.ended(reader.session);
  }

  #tick(): void {
    for (const reader of this.#readers) reader.notify(this.#parts.record.newest(reader.project));
  }

  #onChange(change: Notification): void {
    if (change.type !== 'changes') return;
    for (const reader of this.#readers) if (reader.project === change.project) reader.notify(change.position);
  }
}
