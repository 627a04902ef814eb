import type { Clock } from '../core/clock.ts';
import type { PresenceEvent, PresenceStore, PresenceWatch } from '../presence/presence-store.ts';
import { type Store, StoreUnavailableError } from '../store/store.ts';
import type { FeedState } from './feed-state.ts';
import type { Interruptions } from './interruptions.ts';
import { readView } from './read-view.ts';
import type { ReadingTurns } from './reading-turns.ts';

/**
 * How often a watch is renewed and compared with the engine, in milliseconds. A stream of a group that the engine has lost
 * shows nothing for as long, and for a tick more.
 */
const RENEW_MS = 2_000;

export interface FollowedParts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly interruptions: Interruptions;
  readonly turns: ReadingTurns;
}

export type Numbered = readonly [offset: number, event: PresenceEvent, checksum?: string | undefined];

/** What a followed group is for. */
export interface Follower {
  /** Brings the state through these events. */
  apply(events: readonly Numbered[]): Promise<void>;
  /** The state is about to be read anew: nothing is true until it has been. */
  onReading(): void;
  /** The state was read and is followed from there. Resolves when all that follows from it is done, or in doubt. */
  onRead(): Promise<void>;
}

/**
 * Keeps the state of a group up to date: watches it, reads it, and then goes from event to event. Whatever fails on the
 * way, the engine's order or the Store, is answered by reading it anew, a second later if it cannot be done at once.
 */
export class FollowedGroup {
  readonly #parts: FollowedParts;
  readonly #state: FeedState;
  readonly #follower: Follower;
  /** Everything that reads or changes the state does so here, one after the other. */
  #line: Promise<unknown> = Promise.resolve();
  /** Null until the group is watched for what is being read. */
  #watch: PresenceWatch | null = null;
  /** Which watch counts: one that was given up may still tell something. */
  #generation = 0;
  #phase: 'reading' | 'following' | 'lost' | 'closed' = 'reading';
  #queue: Numbered[] = [];
  #reading: Promise<void> = Promise.resolve();
  #renewedAt = 0;
  #isRenewing = false;
  #wake = () => {};

  constructor(parts: FollowedParts, state: FeedState, follower: Follower) {
    this.#parts = parts;
    this.#state = state;
    this.#follower = follower;
    this.#read();
  }

  /** Resolves when the group is followed. Rejects when it cannot be read right now. */
  get ready(): Promise<void> {
    return this.#reading;
  }

  /** The watch, while the group is followed. */
  get watch(): PresenceWatch | null {
    return this.#phase === 'following' ? this.#watch : null;
  }

  /** Does something in the order in which the state is changed, so that it stands still meanwhile. */
  inOrder<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#line.then(task);
    this.#line = done.catch(() => {});
    return done;
  }

  /** To be called about once a second. */
  tick(now: number): void {
    if (this.#phase === 'lost') this.#read();
    const isDue = now - this.#renewedAt >= RENEW_MS || now < this.#renewedAt;
    // Also while the group is being read: that may take longer than the lease.
    if (this.#watch === null || !isDue || this.#isRenewing) return;
    this.#renewedAt = now;
    this.#isRenewing = true;
    const generation = this.#generation;
    this.#watch
      .renew(now)
      .catch((error) => this.#lose(generation, error))
      .finally(() => {
        if (generation === this.#generation) this.#isRenewing = false;
      });
  }

  /** What follows from the state could not be done: it is read anew, when the next tick comes. */
  doubt(err: unknown): void {
    if (this.#phase !== 'following') return;
    this.#parts.interruptions.begin(this, err);
    this.#generation += 1;
    this.#phase = 'lost';
  }

  close(): void {
    this.#phase = 'closed';
    this.#generation += 1;
    this.#unwatch();
    this.#wake();
    this.#parts.interruptions.end(this);
  }

  #read(): void {
    this.#generation += 1;
    this.#phase = 'reading';
    this.#unwatch();
    const generation = this.#generation;
    this.#reading = this.#parts.turns.take(() => this.inOrder(() => this.#readInOrder(generation)));
    this.#reading
      .then(() => this.#onRead(generation))
      .catch((error) => {
        if (generation !== this.#generation || this.#phase === 'closed') return;
        this.#parts.interruptions.failed(this, error);
        this.#phase = 'lost';
      });
  }

  async #onRead(generation: number): Promise<void> {
    if (generation !== this.#generation) return;
    await this.#follower.onRead();
    if (generation === this.#generation) this.#parts.interruptions.end(this);
  }

  #unwatch(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#isRenewing = false;
  }

  async #readInOrder(generation: number): Promise<void> {
    const { presence, clock } = this.#parts;
    const state = this.#state;
    this.#requireCurrent(generation);
    this.#follower.onReading();
    this.#queue = [];
    this.#renewedAt = clock.now();
    const watch = await presence.watch(state.scope, this.#renewedAt, this.#watcher(generation));
    if (generation !== this.#generation) watch.close();
    this.#requireCurrent(generation);
    this.#watch = watch;
    state.begin(watch.position);
    const readTo = await readView(this.#parts, state.scope, state.view);
    await state.known.read(this.#parts.store, state.scope);
    while (state.offset < readTo) {
      // Of what was lost before it is waited for, nothing comes.
      this.#requireCurrent(generation);
      if (this.#queue.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#requireCurrent(generation);
      await this.#applyAll(this.#queue.splice(0));
    }
    this.#requireCurrent(generation);
    this.#phase = 'following';
    if (this.#queue.length > 0) this.#schedule();
  }

  /** @throws StoreUnavailableError where what is being read counts no more */
  #requireCurrent(generation: number): void {
    if (generation !== this.#generation) throw orderLost();
  }

  #watcher(generation: number) {
    return {
      onEvent: (offset: number, event: PresenceEvent, checksum?: string) => {
        if (generation !== this.#generation) return;
        this.#queue.push([offset, event, checksum]);
        if (this.#phase !== 'following') this.#wake();
        else if (this.#queue.length === 1) this.#schedule();
      },
      onLost: () => this.#lose(generation, orderLost()),
    };
  }

  /** What happens in one turn of the event loop is applied, and told, together. */
  #schedule(): void {
    const generation = this.#generation;
    setImmediate(() => {
      this.inOrder(() => this.#applyQueue(generation)).catch((error) => this.#lose(generation, error));
    });
  }

  async #applyQueue(generation: number): Promise<void> {
    if (generation !== this.#generation || this.#phase !== 'following') return;
    await this.#applyAll(this.#queue.splice(0));
  }

  async #applyAll(events: readonly Numbered[]): Promise<void> {
    for (const [offset, , checksum] of events) this.#state.learnChecksum(offset, checksum);
    await this.#follower.apply(events);
  }

  /** Nothing happens where this watch was given up before. */
  #lose(generation: number, err: unknown): void {
    if (generation !== this.#generation || this.#phase === 'closed') return;
    if (this.#phase === 'following') this.#parts.interruptions.begin(this, err);
    this.#read();
    this.#wake();
  }
}

const orderLost = () => new StoreUnavailableError('the order of events was lost');
