import type { Logger } from 'pino';
import { inTicks } from '../../concurrency/in-ticks.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Clock } from '../../core/clock.ts';
import type { PresenceScope, PresenceStore } from '../../presence/presence-store.ts';
import type { StreamRequest } from './stream-request.ts';

/** How long after the end of a stream its connection is released, in milliseconds: a page that reconnects is back by then. */
const RELEASE_DELAY_MS = 2_000;
/** How many connections are released in one event-loop tick: the streams of very many pages can close at once. */
const RELEASED_AT_ONCE = 100;

interface Parts {
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Releases what a connection holds in a group when its stream has closed. The release is a deadline in the PresenceStore, so it
 * happens whatever becomes of this process. It is an event of the group: each process that has a stream of the
 * connection open takes the release back. Costs an entry for each connection with a stream here.
 */
export class ConnectionReleases {
  readonly #parts: Parts;
  /** How many streams each connection has open here. */
  readonly #open = new Map<string, number>();
  /** Connections whose last stream here has closed. */
  #closed = new Map<string, Held>();
  readonly #releases = new Repeated(() => this.#releaseClosed());

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A stream was opened. A release that is under way is taken back. Never rejects. */
  async opened(request: StreamRequest): Promise<void> {
    const held = heldBy(request);
    if (held === null) return;
    const key = keyOf(held);
    this.#open.set(key, (this.#open.get(key) ?? 0) + 1);
    await this.#retain(held);
  }

  /** A stream of {@link opened} has closed. */
  closed(request: StreamRequest): void {
    const held = heldBy(request);
    if (held === null) return;
    const key = keyOf(held);
    const left = (this.#open.get(key) ?? 1) - 1;
    if (left > 0) this.#open.set(key, left);
    else {
      this.#open.delete(key);
      this.#closed.set(key, held);
      void this.#releases.request();
    }
  }

  /** A connection is about to be released, by whichever process. */
  readonly releasing = (scope: PresenceScope, { userId, connection }: Released): void => {
    const held = { ...scope, userId, connection };
    if (this.#open.has(keyOf(held))) void this.#retain(held);
  };

  async #releaseClosed(): Promise<void> {
    const closed = this.#closed;
    this.#closed = new Map();
    await inTicks(closed, RELEASED_AT_ONCE, ([key, held]) => {
      // A stream of it may have been opened meanwhile.
      if (!this.#open.has(key)) void this.#release(held);
    });
  }

  async #release(held: Held): Promise<void> {
    const now = this.#parts.clock.now();
    await this.#parts.presence
      .release({ ...held, now, at: now + RELEASE_DELAY_MS })
      .catch((err) =>
        this.#parts.log.error(
          { err },
          'presence of a closed stream was not released; it ends at its deadline',
        ),
      );
  }

  async #retain(held: Held): Promise<void> {
    await this.#parts.presence
      .retain({ ...held, now: this.#parts.clock.now() })
      .catch((err) =>
        this.#parts.log.error(
          { err },
          'the release of a reopened connection was not cancelled; its presence is absent until its next update',
        ),
      );
  }
}

interface Released {
  readonly userId: string;
  readonly connection: string;
}

type Held = PresenceScope & Released;

function heldBy({ caller, groupId, viewer, connection }: StreamRequest): Held | null {
  if (viewer === undefined || connection === undefined) return null;
  return { project: caller.project, groupId, userId: viewer.userId, connection };
}

const keyOf = ({ project, groupId, userId, connection }: Held) =>
  JSON.stringify([project, groupId, userId, connection]);
