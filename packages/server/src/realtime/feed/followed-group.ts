import { Semaphore } from '../../concurrency/semaphore.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import type { Clock } from '../../core/clock.ts';
import type {
  NumberedEvent,
  PresenceEvent,
  PresenceStore,
  PresenceWatch,
} from '../../presence/presence-store.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import { readAllDurable } from '../views/durable-reading.ts';
import type { FeedState } from '../views/feed-state.ts';
import { readView } from '../views/read-view.ts';
import type { InterruptionLog } from './interruption-log.ts';

/**
 * How often a watch is renewed and compared with the engine, in milliseconds. A stream of a group that the engine has lost
 * shows nothing for this long and one tick.
 */
const RENEW_MS = 2_000;

export interface FollowedParts {
  readonly record: RecordFollower;
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly interruptions: InterruptionLog;
  /** Limits the readings that are under way at once. A reading waits for no other one. */
  readonly reads: Semaphore;
}

/** Uses the state of a followed group. */
export interface Follower {
  /** Whether streams get the group's events. Without, the log has no interruption when events do not come. */
  readonly hasReaders: boolean;
  apply(events: readonly NumberedEvent[]): Promise<void>;
  /** The state is about to be read again: it is not valid until then. */
  onReading(): void;
  /** The state was read, and is followed from there. Resolves when all that depends on it is done, or the state is invalid. */
  onRead(): Promise<void>;
}

interface ChecksummedEvent {
  readonly numbered: NumberedEvent;
  readonly checksum: string | undefined;
}

/**
 * Updates the state of a group: watches the group, reads it, and then applies its events. Every failure, of the
 * engine's order or of the Store, is answered by reading the group again; if that cannot be done at once, its owner retries.
 */
export class FollowedGroup {
  readonly #parts: FollowedParts;
  readonly #state: FeedState;
  readonly #follower: Follower;
  /** Whatever reads or changes the state has its permit. */
  readonly #order = new Semaphore({ permits: 1 });
  /** Null until the group is watched for the present reading. */
  #watch: PresenceWatch | null = null;
  /** Of the present watch: an earlier one may still have events under way. */
  #generation = 0;
  #phase: 'reading' | 'following' | 'lost' | 'closed' = 'reading';
  /** Whether the state is that of a reading, and of what happened up to some time. */
  #isWhole = false;
  /** Whether records may have been missed since the present reading began. */
  #hasGap = false;
  #events: ChecksummedEvent[] = [];
  #reading: Promise<void> = Promise.resolve();
  #renewedAt = 0;
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

  /** Runs a task in the order in which the state changes. The state does not change meanwhile. */
  inOrder<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#order.run(null, task);
  }

  /**
   * Runs a task in the same order while the group's events do not come, and the state is what they left. Whether it ran: before
   * the first reading and during one there is no such state.
   */
  alone(task: () => Promise<void>): Promise<boolean> {
    return this.inOrder(async () => {
      if (!this.#isWhole || this.#phase === 'following' || this.#phase === 'closed') return false;
      await task();
      return true;
    });
  }

  /** The group is to be read again: see {@link retry}. */
  get isLost(): boolean {
    return this.#phase === 'lost';
  }

  /** Reads the group again, where it is lost. */
  retry(): void {
    if (this.#phase === 'lost') this.#read();
  }

  /** Call it about once a second. */
  tick(now: number): void {
    const isDue = now - this.#renewedAt >= RENEW_MS || now < this.#renewedAt;
    // Also while the group is being read: that may take longer than the lease.
    if (this.#watch === null || !isDue) return;
    this.#renewedAt = now;
    const generation = this.#generation;
    this.#watch.renew(now).catch((error) => this.#lose(generation, error));
  }

  /** An event could not be applied to the state: the group is lost. */
  invalidate(err: unknown): void {
    if (this.#phase !== 'following') return;
    this.#interrupted(err);
    this.#generation += 1;
    this.#phase = 'lost';
  }

  /** Records may have been missed: the group is read again, after the reading that is under way. */
  onGap(): void {
    this.#hasGap = true;
    this.invalidate(recordGap());
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
    this.#reading = this.#parts.reads.run(this.#state.scope.project, async () => {
      const watch = await this.#openWatch(generation);
      await this.inOrder(() => this.#readInOrder(generation, watch));
    });
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
    if (generation !== this.#generation) return;
    this.#parts.interruptions.end(this);
    if (this.#hasGap) this.invalidate(recordGap());
  }

  #unwatch(): void {
    this.#watch?.close();
    this.#watch = null;
  }

  /** Not in the order: while the engine does not answer, the state is what it was, and recorded changes are applied to it. */
  async #openWatch(generation: number): Promise<PresenceWatch> {
    const { record, presence, clock } = this.#parts;
    const { scope } = this.#state;
    await record.begun(scope.project);
    this.#requireCurrent(generation);
    this.#events = [];
    this.#renewedAt = clock.now();
    const watch = await presence.watch(scope, this.#renewedAt, this.#watcher(generation));
    if (generation !== this.#generation) watch.close();
    this.#requireCurrent(generation);
    this.#watch = watch;
    return watch;
  }

  async #readInOrder(generation: number, watch: PresenceWatch): Promise<void> {
    const { store } = this.#parts;
    const state = this.#state;
    this.#requireCurrent(generation);
    this.#isWhole = false;
    this.#hasGap = false;
    this.#follower.onReading();
    state.begin(watch.position);
    const readTo = await readView(this.#parts, state.scope, state.view);
    state.unfiltered.replaceDurable(await readAllDurable(store, state.scope, null));
    while (state.offset < readTo) {
      // A watch that was lost before this has no more events.
      this.#requireCurrent(generation);
      if (this.#events.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#requireCurrent(generation);
      await this.#applyEvents();
    }
    this.#requireCurrent(generation);
    this.#phase = 'following';
    this.#isWhole = true;
    if (this.#events.length > 0) this.#schedule();
  }

  /** @throws StoreUnavailableError where the reading has been given up */
  #requireCurrent(generation: number): void {
    if (generation !== this.#generation) throw orderLost();
  }

  #watcher(generation: number) {
    return {
      onEvent: (offset: number, event: PresenceEvent, checksum?: string) => {
        if (generation !== this.#generation) return;
        this.#events.push({ numbered: [offset, event], checksum });
        if (this.#phase !== 'following') this.#wake();
        else if (this.#events.length === 1) this.#schedule();
      },
      onLost: () => this.#lose(generation, orderLost()),
    };
  }

  /** The events of one event-loop tick are applied, and sent, together. */
  #schedule(): void {
    const generation = this.#generation;
    setImmediate(() => {
      this.inOrder(() => this.#applyDue(generation)).catch((error) => this.#lose(generation, error));
    });
  }

  #applyDue(generation: number): Promise<void> {
    const isDue = generation === this.#generation && this.#phase === 'following';
    return isDue ? this.#applyEvents() : Promise.resolve();
  }

  #applyEvents(): Promise<void> {
    const events = this.#events;
    this.#events = [];
    for (const { numbered, checksum } of events) this.#state.addChecksum(numbered[0], checksum);
    return this.#follower.apply(events.map(({ numbered }) => numbered));
  }

  /** Does nothing where this watch has been given up. */
  #lose(generation: number, err: unknown): void {
    if (generation !== this.#generation || this.#phase === 'closed') return;
    if (this.#phase === 'following') this.#interrupted(err);
    this.#read();
    this.#wake();
  }

  #interrupted(err: unknown): void {
    if (this.#follower.hasReaders) this.#parts.interruptions.begin(this, err);
  }
}

const recordGap = () => new StoreUnavailableError('the record of changes has a gap');
const orderLost = () => new StoreUnavailableError('the order of events was lost');
