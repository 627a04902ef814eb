import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PresenceFilter } from '../core/presence-reading.ts';
import { entriesText, heartbeatText } from './event-text.ts';
import type { FeedState } from './feed-state.ts';
import { FilteredView } from './filtered-view.ts';
import { mergeEntries } from './merge-entries.ts';
import { inPieces, type Text, textOf } from './pieces.ts';
import type { Entry, ReaderEvent } from './reader-event.ts';
import { RecentEntries } from './recent-entries.ts';
import { type Opening, snapshotOf } from './snapshot-text.ts';
import type { StreamSession } from './stream-session.ts';

/** How many writes are made before others have their turn: a few milliseconds. */
const WRITES_PER_TURN = 256;
/** Most bytes that somebody who missed something is given in place of a snapshot. */
const MISSED_MAX_BYTES = 1_048_576;
const NO_TEXT = textOf([]);

/** What all readers are told at once. Whoever knows all up to `from` takes the text; others need some of their own. */
export interface Batch {
  readonly from: number;
  /** The offset of the first entry. */
  readonly first: number;
  readonly to: number;
  readonly text: Text;
}

/** Users whose durable places are to be read again; null stands for everybody. */
export interface Unread {
  ids: Set<string> | null;
}

/**
 * The readers of a group with one filter: what they are told is filtered and written once for all of them. Locations,
 * events and texts are stored once for all channels of the group (see FeedState). A channel by itself costs some 5 KB,
 * 8 bytes for each of the last 1,000 events that it showed, and while it has a snapshot, 8 bytes for each user in it.
 */
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
  readonly #onDefect: (defect: unknown) => void;
  readonly #idAt = (offset: number) => this.#state.idAt(offset);
  #isOpen = false;
  #isPumping = false;
  #isPumpAsked = false;
  #pending: Entry[] = [];
  readonly #recent: RecentEntries;
  #toldTo: number;
  /** The batch that is being handed out. */
  #telling: Batch | null = null;
  #told: Promise<void> = Promise.resolve();
  /** What is given to new readers until something changes. */
  #snapshot: Opening | null = null;
  /** Of the keys of texts that were written since the last batch. */
  #missedPrefix: number;

  /** @param onDefect told why its readers could not be told of something: they do not know what they should any more */
  constructor(filter: PresenceFilter, state: FeedState, onDefect: (defect: unknown) => void) {
    this.view = new FilteredView(filter, state.durable);
    this.#state = state;
    this.#onDefect = onDefect;
    this.#toldTo = state.offset;
    this.#missedPrefix = state.missedTexts.newPrefix();
    this.#recent = new RecentEntries(state.offset);
    state.entries.add(this.#recent);
    state.channels.add(this);
  }

  /** Nothing is stored for it any longer. To be called when it has no readers. Idempotent. */
  close(): void {
    const { entries, channels } = this.#state;
    this.shut();
    this.#outdate();
    this.view.close();
    entries.remove(this.#recent);
    channels.remove(this);
    this.#state.pruneTexts();
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
    this.#outdate();
    for (const event of events) this.#pending.push(this.#state.entries.entryOf(offset, event));
  }

  /** Tells all readers what is pending, when they have been told what came before: all of it, or merged. Never rejects. */
  tell(isMerged = false): Promise<void> {
    this.#told = this.#told
      .then(() => this.#tell(isMerged))
      .catch((defect) => {
        // It would throw again, and the readers are given a snapshot instead.
        this.#pending = [];
        this.#telling = null;
        this.#onDefect(defect);
      });
    return this.#told;
  }

  /** All that the filter shows. To be called in the feed's order. */
  async snapshot(): Promise<Opening> {
    this.#snapshot ??= await snapshotOf(this.view, this.#state);
    return this.#snapshot;
  }

  /** Whether somebody who knows all up to an offset can be told the rest. */
  keeps(offset: number): boolean {
    return this.#recent.keeps(offset);
  }

  /** What brings them to {@link toldTo}, one by one or merged; null when it is not stored, or too much. */
  missed(offset: number, isMerged: boolean): Text | null {
    if (offset >= this.#toldTo) return NO_TEXT;
    const entries = () => {
      const all = this.#recent.after(offset);
      return isMerged && all !== null ? mergeEntries(all) : all;
    };
    return this.shared(`${offset} ${isMerged}`, entries, this.#toldTo);
  }

  /**
   * Entries that lead to an offset, written once for all readers who ask with the same key before more is sent; null where
   * there are none, or too many.
   */
  shared(key: string, entries: () => readonly Entry[] | null, to: number): Text | null {
    const { missedTexts } = this.#state;
    const ownKey = `${this.#missedPrefix} ${key}`;
    const known = missedTexts.get(ownKey);
    if (known !== undefined) return known;
    const missed = entries();
    const bytes = missed === null ? null : Buffer.from(entriesText(missed, this.#idAt, to));
    if (bytes === null || bytes.length > MISSED_MAX_BYTES) return null;
    const text = textOf(inPieces(bytes));
    missedTexts.add(ownKey, text);
    return text;
  }

  /** Gives every reader a sign of life, which says how far they have come. */
  async beat(): Promise<void> {
    const bytes = Buffer.from(this.#heartbeat());
    await inTurns(this.readers, 1, (reader) => reader.beat(bytes));
  }

  /** Gives these readers a snapshot, whatever they know. To be called in the feed's order. */
  async reopen(readers: Iterable<StreamSession> = this.readers): Promise<void> {
    const opening = await this.snapshot();
    for (const reader of readers) reader.reopen(opening);
    // All of them lag from here on, so nothing else has to wait for them.
    void this.pump();
  }

  /** Goes on with those who lag. */
  async pump(): Promise<void> {
    this.#isPumpAsked = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    // Who came to lag meanwhile is not among those whose turn it is.
    while (this.#isPumpAsked) {
      this.#isPumpAsked = false;
      const writes = this.#snapshot?.text.pieceCount ?? 1;
      await inTurns([...this.lagging], writes, (reader) => reader.pump());
    }
    this.#isPumping = false;
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
    this.#outdate();
    this.#missedPrefix = this.#state.missedTexts.newPrefix();
    this.#toldTo = this.#state.offset;
    this.#recent.restart(this.#toldTo);
  }

  /** The next reader is given another snapshot. */
  #outdate(): void {
    if (this.#snapshot !== null) this.#snapshot.text.isCurrent = false;
    this.#snapshot = null;
  }

  #heartbeat(): string {
    const isLevel = this.#isOpen && !this.hasPending && !this.isTelling;
    return heartbeatText(isLevel ? this.#state.idAt(this.#state.offset) : null);
  }

  async #tell(isMerged: boolean): Promise<void> {
    if (this.#pending.length === 0) return;
    const batch = this.#nextBatch(isMerged);
    this.#telling = batch;
    await inTurns(this.readers, batch.text.pieceCount, (reader) => {
      // Unless the group was read anew meanwhile.
      if (this.#telling === batch) reader.take(batch);
    });
    this.#telling = null;
  }

  #nextBatch(isMerged: boolean): Batch {
    const entries = this.#pending;
    const { offset: to } = this.#state;
    const batch = {
      from: this.#toldTo,
      first: (entries[0] as Entry).offset,
      to,
      text: this.#state.batchText.of({ entries, isMerged, idAt: this.#idAt, to }),
    };
    this.#pending = [];
    this.#recent.add(entries);
    this.#missedPrefix = this.#state.missedTexts.newPrefix();
    this.#toldTo = to;
    return batch;
  }
}

/** Does something with each reader that takes so many writes; whoever else is served in between does not wait for all of them. */
async function inTurns(
  readers: Iterable<StreamSession>,
  writesEach: number,
  give: (reader: StreamSession) => void,
): Promise<void> {
  let writes = 0;
  for (const reader of readers) {
    give(reader);
    writes += writesEach;
    if (writes < WRITES_PER_TURN) continue;
    writes = 0;
    await nextTurn();
  }
}
