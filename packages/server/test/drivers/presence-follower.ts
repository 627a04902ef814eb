import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  PresenceEvent,
  PresenceScope,
  PresenceStore,
  PresenceWatch,
} from '../../src/presence/presence-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';

/** The interval of attempts to watch again after a loss. */
const RETRY_MS = 20;

/** Follows a group's events from watch to watch. Events in between are read from the group's history. */
export class PresenceFollower {
  /** The departures, as `user group`. */
  readonly departed: string[] = [];
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

  /** Renews the watch. The next renewal makes up for a rejected one. */
  async renew(now: number): Promise<void> {
    this.#now = now;
    await this.#watch?.renew(now).catch(assertUnavailable);
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  #begin(): Promise<PresenceWatch> {
    return this.#store.watch(this.#scope, this.#now, {
      onEvent: (offset, event) => this.#receive(offset, event),
      onLost: () => void this.#followAgain(),
    });
  }

  /** Events of a new watch that come before the missed events were read are ignored: the history has them too. */
  #receive(offset: number, event: PresenceEvent): void {
    if (offset !== this.#offset + 1) return;
    this.#offset = offset;
    if (event.type === 'departed') this.departed.push(`${event.userId} ${this.#scope.groupId}`);
  }

  async #followAgain(): Promise<void> {
    const epoch = this.#watch?.position.epoch ?? '';
    this.#watch?.close();
    while (!this.#isClosed && !(await this.#catchUp(epoch).then(() => true, assertUnavailable)))
      await delay(RETRY_MS);
  }

  async #catchUp(epoch: string): Promise<void> {
    const watch = await this.#begin();
    this.#watch = watch;
    assert.equal(watch.position.epoch, epoch, 'the group has another epoch');
    for (;;) {
      const missed = await watch.since({ epoch, offset: this.#offset });
      assert.ok(missed !== null, 'the history no longer has the position');
      for (const [offset, event] of missed) this.#receive(offset, event);
      if (missed.length === 0) return;
    }
  }
}

/** Returns false for an error that is answered with 503; any other error fails the test. */
export function assertUnavailable(error: unknown): false {
  assert.ok(error instanceof StoreUnavailableError, `${(error as Error).stack}`);
  return false;
}
