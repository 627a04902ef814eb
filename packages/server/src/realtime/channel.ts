import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PresenceFilter } from '../core/presence-reading.ts';
import { entriesText, heartbeatText } from './event-text.ts';
import type { FeedState } from './feed-state.ts';
import { FilteredView } from './filtered-view.ts';
import { mergeEntries } from './merge-entries.ts';
import type { Entry, ReaderEvent } from './reader-event.ts';
import { RecentEntries } from './recent-entries.ts';
import { type Opening, snapshotOf } from './snapshot-text.ts';
import type { StreamSession } from './stream-session.ts';

/** How many readers are written to before others have their turn: a few milliseconds. */
const WRITES_PER_TURN = 256;
/** Most bytes that one lagging reader is given at once, as a text of its own. */
const MISSED_MAX_BYTES = 1_048_576;

/** What all readers are told at once. Whoever knows all up to `from` takes the bytes; others need bytes of their own. */
export interface Batch {
  readonly from: number;
  /** The offset of the first entry. */
  readonly first: number;
  readonly to: number;
  readonly bytes: Buffer;
}

/** Users whose durable places are to be read again; null stands for everybody. */
export interface Unread {
  ids: Set<string> | null;
}

/** The readers of a group with one filter: what they are told is filtered and written once for all of them. */
export class Channel {
  readonly view: FilteredView;
  readonly readers = new Set<StreamSession>();
  /** Those of the readers who do not know all that was told. */
  readonly lagging = new Set<StreamSession>();
  /** While its durable places are being read: whose of them changed meanwhile. */
  unread: Unread = { ids: new Set() };
  /** Resolves when it is open; rejects where it could not be. Set by the feed. */
  ready: Promise<void> = Promise.resolve();
  /** When it was opened, in milliseconds since the epoch. */
  openedAt = 0;
  /** Since when nobody reads it, in milliseconds since the epoch; null while somebody does. Set by the feed. */
  emptySince: number | null = null;
  readonly #state: FeedState;
  #isOpen = false;
  #pending: Entry[] = [];
  #recent: RecentEntries;
  #toldTo: number;
  /** The batch that is being handed out. */
  #telling: Batch | null = null;
  #told: Promise<void> = Promise.resolve();
  /** What is given to new readers until something changes. */
  #snapshot: Opening | null = null;
  #missed: { readonly key: string; readonly bytes: Buffer } | null = null;

  constructor(filter: PresenceFilter, state: FeedState) {
    this.view = new FilteredView(filter);
    this.#state = state;
    this.#toldTo = state.offset;
    this.#recent = new RecentEntries(state.offset);
  }

  /** Whether it knows what its filter shows, so that it can be told and joined. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Up to which offset readers have been told, or are being told. */
  get toldTo(): number {
    return this.#toldTo;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  get isTelling(): boolean {
    return this.#telling !== null;
  }

  /** Takes what came of the group's event at this offset: complete, and as it was filtered. */
  record(offset: number, events: readonly ReaderEvent[]): void {
    if (events.length === 0) return;
    this.#snapshot = null;
    for (const event of events) this.#pending.push({ offset, event });
  }

  /** Tells all readers what is pending, when they have been told what came before: all of it, or merged. */
  tell(isMerged = false): Promise<void> {
    this.#told = this.#told.then(() => this.#tell(isMerged));
    return this.#told;
  }

  /** All that the filter shows. To be called in the feed's order. */
  async snapshot(): Promise<Opening> {
    this.#snapshot ??= await snapshotOf(this.view, this.#state);
    return this.#snapshot;
  }

  /** What brings somebody who knows all up to an offset to {@link toldTo}, one by one; null when that is not kept. */
  missedEntries(offset: number): readonly Entry[] | null {
    return this.#recent.after(offset);
  }

  /** Whether somebody who knows all up to an offset can be told the rest. */
  keeps(offset: number): boolean {
    return this.#recent.keeps(offset);
  }

  /** The same as bytes, all of it or merged; null also where they would be too many. */
  missed(offset: number, isMerged: boolean): Buffer | null {
    // Those who come after one another have mostly missed the same.
    const key = `${offset} ${this.#recent.count} ${isMerged}`;
    if (this.#missed?.key === key) return this.#missed.bytes;
    const entries = this.#recent.after(offset);
    if (entries === null) return null;
    const told = isMerged ? mergeEntries(entries) : entries;
    const bytes = Buffer.from(entriesText(told, this.#state.epoch, this.#toldTo));
    if (bytes.length > MISSED_MAX_BYTES) return null;
    this.#missed = { key, bytes };
    return bytes;
  }

  /** Gives every reader a sign of life, which says how far they have come. */
  async beat(): Promise<void> {
    const bytes = Buffer.from(this.#heartbeat());
    let count = 0;
    for (const reader of this.readers) {
      reader.beat(bytes);
      count += 1;
      if (count % WRITES_PER_TURN === 0) await nextTurn();
    }
  }

  /** Nothing that was told counts any more, and nothing is told until it is opened again. */
  shut(): Unread {
    this.#isOpen = false;
    this.#pending = [];
    this.#telling = null;
    this.unread = { ids: new Set() };
    return this.unread;
  }

  /** What the filter shows is known, as of the state's offset. */
  restart(now: number): void {
    this.#isOpen = true;
    this.openedAt = now;
    this.#snapshot = null;
    this.#missed = null;
    this.#toldTo = this.#state.offset;
    this.#recent = new RecentEntries(this.#toldTo);
  }

  #heartbeat(): string {
    const isLevel = this.#isOpen && !this.hasPending && !this.isTelling;
    return heartbeatText(isLevel ? this.#state : null);
  }

  async #tell(isMerged: boolean): Promise<void> {
    if (this.#pending.length === 0) return;
    const batch = this.#nextBatch(isMerged);
    this.#telling = batch;
    let count = 0;
    for (const reader of this.readers) {
      reader.take(batch);
      count += 1;
      if (count % WRITES_PER_TURN === 0) await nextTurn();
      // The group was read anew meanwhile.
      if (this.#telling !== batch) return;
    }
    this.#telling = null;
  }

  #nextBatch(isMerged: boolean): Batch {
    const entries = this.#pending;
    const { epoch, offset: to } = this.#state;
    const batch = {
      from: this.#toldTo,
      first: (entries[0] as Entry).offset,
      to,
      bytes: Buffer.from(entriesText(isMerged ? mergeEntries(entries) : entries, epoch, to)),
    };
    this.#pending = [];
    this.#recent.add(entries);
    this.#toldTo = to;
    return batch;
  }
}
