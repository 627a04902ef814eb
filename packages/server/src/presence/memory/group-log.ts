import { randomBytes } from 'node:crypto';
import type { ProjectKey } from '../../values/project-key.ts';
import {
  HISTORY_LENGTH,
  HISTORY_MAX_LENGTH,
  type NumberedEvent,
  type PresenceEvent,
  type PresencePosition,
  type PresenceScope,
  type PresenceWatch,
  type PresenceWatcher,
  WATCH_LEASE_MS,
} from '../presence-store.ts';
import { detached } from './detached.ts';
import { EventHistory } from './event-history.ts';

/** A watcher of the events after `after`. */
interface WatcherState {
  readonly watcher: PresenceWatcher;
  readonly after: number;
}

/** The last events of a watched group, and the watchers of the next ones. */
export class GroupLog implements PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly #epoch = randomBytes(8).toString('hex');
  #leaseEndsAt: number;
  #offset = 0;
  #publishedTo = 0;
  /** The last events, up to the offset; null when the log has ended. */
  #history: EventHistory | null = new EventHistory();
  readonly #watching = new Set<WatcherState>();
  /** Events to be delivered. A watcher that makes a change in its call receives it after all have received this event. */
  readonly #undelivered: NumberedEvent[] = [];

  constructor({ project, groupId }: PresenceScope, now: number) {
    this.project = project;
    this.groupId = detached(groupId);
    this.#leaseEndsAt = now + WATCH_LEASE_MS;
  }

  get offset(): number {
    return this.#offset;
  }

  isWatched(now: number): boolean {
    return this.#leaseEndsAt > now;
  }

  renew(now: number): void {
    this.#leaseEndsAt = Math.max(this.#leaseEndsAt, now + WATCH_LEASE_MS);
  }

  /** With `upTo` does nothing where that position of the record, or a greater one, was published. */
  append(event: PresenceEvent, upTo?: number): void {
    const history = this.#history;
    if (history === null || (upTo !== undefined && upTo <= this.#publishedTo)) return;
    this.#publishedTo = upTo ?? this.#publishedTo;
    this.#offset += 1;
    history.push(event);
    while (history.length > HISTORY_LENGTH || (history.length > 1 && history.textLength > HISTORY_MAX_LENGTH))
      history.shift();
    if (this.#watching.size === 0) return;
    this.#undelivered.push([this.#offset, event]);
    if (this.#undelivered.length === 1) this.#deliver();
  }

  /** @param renew called when the watch is renewed */
  watch(watcher: PresenceWatcher, renew: (now: number) => void): PresenceWatch {
    const watching: WatcherState = { watcher, after: this.#offset };
    this.#watching.add(watching);
    return {
      position: { epoch: this.#epoch, offset: this.#offset },
      since: async (position) => this.#since(position),
      renew: async (now) => renew(now),
      close: () => void this.#watching.delete(watching),
    };
  }

  /** Ends the log: its watches are lost, and none of its positions can be resumed. */
  end(): void {
    this.#history = null;
    for (const watching of this.#watching) {
      this.#watching.delete(watching);
      watching.watcher.onLost();
    }
  }

  #since({ epoch, offset }: PresencePosition): NumberedEvent[] | null {
    const history = this.#history;
    const missed = this.#offset - offset;
    if (history === null || epoch !== this.#epoch || missed < 0 || missed > history.length) return null;
    const first = history.length - missed;
    return Array.from({ length: missed }, (_, index) => [offset + 1 + index, history.at(first + index)]);
  }

  #deliver(): void {
    try {
      // Events that are appended meanwhile are delivered by this loop.
      for (const [offset, event] of this.#undelivered) {
        for (const { watcher, after } of this.#watching) if (offset > after) watcher.onEvent(offset, event);
      }
    } finally {
      this.#undelivered.length = 0;
    }
  }
}
