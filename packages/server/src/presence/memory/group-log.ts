import { randomBytes } from 'node:crypto';
import type { ProjectKey } from '../../store/store.ts';
import {
  HISTORY_LENGTH,
  HISTORY_MAX_LENGTH,
  type PresenceEvent,
  type PresencePosition,
  type PresenceScope,
  type PresenceWatch,
  type PresenceWatcher,
  WATCH_LEASE_MS,
} from '../presence-store.ts';
import { ownText } from './own-text.ts';

type Numbered = readonly [offset: number, event: PresenceEvent];

/** Somebody who is told of the events after `after`. */
interface Watching {
  readonly watcher: PresenceWatcher;
  readonly after: number;
}

/** The events of a watched group: the last of them, and who is told of the next. */
export class GroupLog implements PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly #epoch = randomBytes(8).toString('hex');
  #leaseEndsAt: number;
  #offset = 0;
  /** The event with offset n is at n % HISTORY_LENGTH; null when the log has ended. */
  #history: (PresenceEvent | undefined)[] | null = [];
  /** How many events are kept, and how much text. */
  #kept = 0;
  #textLength = 0;
  readonly #watching = new Set<Watching>();
  /** What the watchers are still to be told: one who makes a change in a call hears of it after the others heard this. */
  readonly #untold: Numbered[] = [];

  constructor({ project, groupId }: PresenceScope, now: number) {
    this.project = project;
    this.groupId = ownText(groupId);
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

  append(event: PresenceEvent): void {
    if (this.#history === null) return;
    if (this.#kept === HISTORY_LENGTH) this.#dropOldest(this.#history);
    this.#offset += 1;
    this.#history[this.#offset % HISTORY_LENGTH] = event;
    this.#kept += 1;
    this.#textLength += textLength(event);
    while (this.#kept > 1 && this.#textLength > HISTORY_MAX_LENGTH) this.#dropOldest(this.#history);
    if (this.#watching.size === 0) return;
    this.#untold.push([this.#offset, event]);
    if (this.#untold.length === 1) this.#tell();
  }

  /** @param renew called for a sign of life of the watcher */
  watch(watcher: PresenceWatcher, renew: (now: number) => void): PresenceWatch {
    const watching: Watching = { watcher, after: this.#offset };
    this.#watching.add(watching);
    return {
      position: { epoch: this.#epoch, offset: this.#offset },
      since: async (position) => this.#since(position),
      renew: async (now) => renew(now),
      close: () => void this.#watching.delete(watching),
    };
  }

  /** Ends the log: whoever still watches is told that it is lost, and no position of it leads anywhere. */
  end(): void {
    this.#history = null;
    for (const watching of this.#watching) {
      this.#watching.delete(watching);
      watching.watcher.onLost();
    }
  }

  #since({ epoch, offset }: PresencePosition): Numbered[] | null {
    const missed = this.#offset - offset;
    if (this.#history === null || epoch !== this.#epoch || missed < 0 || missed > this.#kept) return null;
    const events: Numbered[] = [];
    for (let next = offset + 1; next <= this.#offset; next += 1) {
      events.push([next, this.#history[next % HISTORY_LENGTH] as PresenceEvent]);
    }
    return events;
  }

  #dropOldest(history: (PresenceEvent | undefined)[]): void {
    const index = (this.#offset - this.#kept + 1) % HISTORY_LENGTH;
    this.#textLength -= textLength(history[index] as PresenceEvent);
    history[index] = undefined;
    this.#kept -= 1;
  }

  #tell(): void {
    try {
      // What is appended meanwhile is told in its turn.
      for (const [offset, event] of this.#untold) {
        for (const { watcher, after } of this.#watching) if (offset > after) watcher.onEvent(offset, event);
      }
    } finally {
      this.#untold.length = 0;
    }
  }
}

/** Of the locations and user IDs of an event, which are all of it that can be long. */
function textLength(event: PresenceEvent): number {
  if ('userIds' in event) return event.userIds.reduce((sum, id) => sum + id.length, 0);
  if (!('location' in event)) return 0;
  const left = 'left' in event ? (event.left?.length ?? 0) : 0;
  return event.userId.length + event.location.length + left;
}
