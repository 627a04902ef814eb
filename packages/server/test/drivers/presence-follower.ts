import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  PresenceEvent,
  PresenceScope,
  PresenceStore,
  PresenceWatch,
} from '../../src/presence/presence-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';

/** How soon a watch that was lost is tried again. */
const RETRY_MS = 20;

/** Follows a group's events from watch to watch: what it missed in between it reads from the group's history. */
export class PresenceFollower {
  /** Who was told to have left, as `user group`. */
  readonly left: string[] = [];
  readonly #store: PresenceStore;
  readonly #scope: PresenceScope;
  #watch: PresenceWatch | null = null;
  #offset = 0;
  #now: number;
  #isClosed = false;

  private constructor(store: PresenceStore, scope: PresenceScope, now: number) {
    this.#store = store;
    this.#scope = scope;
    this.#now = now;
  }

  static async open(store: PresenceStore, scope: PresenceScope, now: number): Promise<PresenceFollower> {
    const follower = new PresenceFollower(store, scope, now);
    follower.#watch = await follower.#begin();
    follower.#offset = follower.#watch.position.offset;
    return follower;
  }

  /** A sign of life. What is refused is made up for by the next. */
  async renew(now: number): Promise<void> {
    this.#now = now;
    await this.#watch?.renew(now).catch(assertPassing);
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  #begin(): Promise<PresenceWatch> {
    return this.#store.watch(this.#scope, this.#now, {
      onEvent: (offset, event) => this.#hear(offset, event),
      onLost: () => void this.#followAgain(),
    });
  }

  /** Events of a new watch come before what was missed has been read; they are read again then. */
  #hear(offset: number, event: PresenceEvent): void {
    if (offset !== this.#offset + 1) return;
    this.#offset = offset;
    if (event.type === 'departed') this.left.push(`${event.userId} ${this.#scope.groupId}`);
  }

  async #followAgain(): Promise<void> {
    const epoch = this.#watch?.position.epoch ?? '';
    this.#watch?.close();
    while (!this.#isClosed && !(await this.#catchUp(epoch).then(() => true, assertPassing)))
      await delay(RETRY_MS);
  }

  async #catchUp(epoch: string): Promise<void> {
    const watch = await this.#begin();
    this.#watch = watch;
    assert.equal(watch.position.epoch, epoch, 'the group lost its count');
    for (;;) {
      const missed = await watch.since({ epoch, offset: this.#offset });
      assert.ok(missed !== null, 'the history is gone');
      for (const [offset, event] of missed) this.#hear(offset, event);
      if (missed.length === 0) return;
    }
  }
}

/** False, for what a 503 is answered with; whatever else there is fails the test. */
export function assertPassing(error: unknown): false {
  assert.ok(error instanceof StoreUnavailableError, `${(error as Error).stack}`);
  return false;
}
