import { setImmediate as nextIteration } from 'node:timers/promises';
import type { PresenceFilter } from '../../core/presence/presence-reading.ts';
import { entryEvents } from '../../wire/event-text.ts';
import { mergeEntries } from '../events/merge-entries.ts';
import type { Entry, ReaderEvent, StoredEntry } from '../events/reader-event.ts';
import type { RecentEntries } from '../events/recent-entries.ts';
import { textOf } from '../text/events-text.ts';
import type { Text } from '../text/pieces.ts';
import type { FeedState } from '../views/feed-state.ts';
import { FilteredView } from '../views/filtered-view.ts';
import type { Batch, ChannelReader, Opening } from './channel-reader.ts';
import { snapshotOf } from './snapshot-text.ts';

/** How many writes are made in one event-loop tick: a few milliseconds. */
export const WRITES_PER_TICK = 256;
/** Most bytes of missed events; a reader who missed more is sent a snapshot. */
const MISSED_MAX_BYTES = 1_048_576;
const NO_TEXT = textOf([]);

/** Users whose durable locations are to be read again; null for all. */
interface Stale {
  userIds: Set<string> | null;
}

/**
 * The readers of a group with one filter. What they are sent is filtered and written once for all of them. Locations,
 * events and texts are stored once for all channels of the group (see FeedState). A channel by itself costs some 5 KB,
 * 8 bytes for each of the last 1,000 events that it showed, and while it has a snapshot, 8 bytes for each user in it.
 */
export class Channel {
  readonly view: FilteredView;
  readonly readers = new Set<ChannelReader>();
  /** The readers who do not have everything that was sent. */
  readonly lagging = new Set<ChannelReader>();
  /** While the channel's durable locations are being read: the users whose locations changed meanwhile. */
  stale: Stale = { userIds: new Set() };
  /** Resolves when the channel is open; rejects where it could not be opened. Set by the feed. */
  ready: Promise<void> = Promise.resolve();
  /** When it was opened, in milliseconds since the epoch. */
  openedAt = 0;
  /** How many readers wait to join. Set by the feed. */
  joining = 0;
  /** Since when it has no readers, in milliseconds since the epoch; null while it has one. Set by the feed. */
  emptySince: number | null = null;
  readonly #state: FeedState;
  readonly #onDefect: (defect: unknown) => void;
  readonly #idAt = (offset: number) => this.#state.idAt(offset);
  #isOpen = false;
  #isPumping = false;
  #isPumpDue = false;
  #pending: StoredEntry[] = [];
  readonly #recent: RecentEntries;
  #sentTo: number;
  #sending: Batch | null = null;
  /** Resolves when what is being sent has been; null while nothing is. Never rejects. */
  #sent: Promise<unknown> | null = null;
  /** The text for new readers, until something changes. */
  #snapshot: Opening | null = null;
  /** The prefix of the keys of texts that were written since the last batch. */
  #missedPrefix: number;

  /** @param onDefect called with the error where its readers could not be sent an event, so that they lack it */
  constructor(filter: PresenceFilter, state: FeedState, onDefect: (defect: unknown) => void) {
    this.view = new FilteredView(filter, state.durable);
    this.#state = state;
    this.#onDefect = onDefect;
    this.#sentTo = state.offset;
    this.#missedPrefix = state.missedTexts.newPrefix();
    this.#recent = state.entries.newList(state.offset);
  }

  /** Releases what is stored for it. Call it when it has no readers. Idempotent. */
  close(): void {
    this.suspend();
    this.#dropSnapshot();
    this.view.close();
    this.#state.entries.remove(this.#recent);
  }

  /** Whether it knows what its filter shows, so that readers can join and get events. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether it shows an entry of the user, with name and picture. */
  showsUser(userId: string): boolean {
    const { view, profiles } = this.#state;
    return this.view.showsUsers && this.view.presenceOf(userId, view, profiles) !== null;
  }

  /** The offset up to which readers have been sent events, or are being sent them. */
  get sentTo(): number {
    return this.#sentTo;
  }

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  get isSending(): boolean {
    return this.#sending !== null;
  }

  /** Takes an event that came of the group's event at this offset, filtered. Those of one offset come together. */
  record(offset: number, event: ReaderEvent): void {
    this.#dropSnapshot();
    const entry = this.#state.entries.entryOf(offset, event);
    // An array that grows takes room for 16 more, and mostly there is one entry.
    if (this.#pending.length === 0) this.#pending = [entry];
    else this.#pending.push(entry);
  }

  /**
   * Sends pending events to all readers, one by one or merged, after what is being sent already. Null where nothing has to be
   * waited for. Never rejects.
   */
  send(isMerged = false): Promise<unknown> | null {
    const sent = this.#sent === null ? this.#send(isMerged) : this.#sent.then(() => this.#send(isMerged));
    this.#sent = sent;
    void sent?.then(() => {
      if (this.#sent === sent) this.#sent = null;
    });
    return sent;
  }

  /** All that the filter shows. Call it in the feed's order. */
  async snapshot(): Promise<Opening> {
    this.#snapshot ??= await snapshotOf(this.view, this.#state);
    return this.#snapshot;
  }

  /** Whether a reader who has all events up to an offset can be sent the rest. */
  covers(offset: number): boolean {
    return this.#recent.covers(offset);
  }

  /** The events from an offset to {@link sentTo}, one by one or merged; null when some are dropped, or they are too long. */
  missed(offset: number, isMerged: boolean): Text | null {
    if (offset >= this.#sentTo) return NO_TEXT;
    const entries = () => {
      const all = this.#recent.after(offset);
      return isMerged && all !== null ? mergeEntries(all, this.view.showsData) : all;
    };
    return this.shared(`${offset} ${isMerged}`, entries, this.#sentTo);
  }

  /**
   * The text of entries that lead to an offset, written once for all readers with the same key until more is sent; null where
   * there are no entries, or they are too long.
   */
  shared(key: string, entries: () => readonly Entry[] | null, to: number): Text | null {
    const { missedTexts } = this.#state;
    const ownKey = `${this.#missedPrefix} ${key}`;
    const known = missedTexts.get(ownKey);
    if (known !== undefined) return known;
    const missed = entries();
    const text = missed === null ? null : textOf(entryEvents(missed, this.#idAt, to));
    if (text === null || text.length > MISSED_MAX_BYTES) return null;
    missedTexts.add(ownKey, text);
    return text;
  }

  /** The ID of the group's position, where the readers have everything up to it; null otherwise. */
  get positionId(): string | null {
    const isLevel = this.#isOpen && !this.hasPending && !this.isSending;
    return isLevel ? this.#state.idAt(this.#state.offset) : null;
  }

  /** Sends these readers a snapshot. Call it in the feed's order. */
  async reopen(readers: Iterable<ChannelReader> = this.readers): Promise<void> {
    const opening = await this.snapshot();
    for (const reader of readers) reader.reopen(opening);
    // All of them lag from here on, so nothing else has to wait for them.
    void this.pump();
  }

  /** Continues with the readers who lag. */
  async pump(): Promise<void> {
    this.#isPumpDue = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    // Readers who begin to lag during a pass are pumped in the next one.
    while (this.#isPumpDue) {
      this.#isPumpDue = false;
      const writes = this.#snapshot?.text.writes ?? 1;
      await giveInTicks([...this.lagging], writes, (reader) => reader.resume());
    }
    this.#isPumping = false;
  }

  /** Drops what is pending, and sends nothing until {@link restart}. Returns the users whose locations change meanwhile. */
  suspend(): Stale {
    this.#isOpen = false;
    this.#pending = [];
    this.#sending = null;
    this.stale = { userIds: new Set() };
    return this.stale;
  }

  /** The view is complete, as of the state's offset. */
  restart(now: number): void {
    this.#isOpen = true;
    this.openedAt = now;
    this.#dropSnapshot();
    this.#missedPrefix = this.#state.missedTexts.newPrefix();
    this.#sentTo = this.#state.offset;
    this.#recent.restart(this.#sentTo);
  }

  #dropSnapshot(): void {
    if (this.#snapshot !== null) this.#snapshot.text.isCurrent = false;
    this.#snapshot = null;
  }

  #send(isMerged: boolean): Promise<void> | null {
    if (this.#pending.length === 0) return null;
    try {
      const batch = this.#nextBatch(isMerged);
      this.#sending = batch;
      const given = giveInTicks(this.readers, batch.text.writes, (reader) => {
        // The channel may have been suspended meanwhile.
        if (this.#sending === batch) reader.take(batch);
      });
      if (given !== null) return given.then(() => this.#endBatch());
      this.#endBatch();
    } catch (defect) {
      // The same entries would throw again; the readers get a snapshot instead.
      this.#pending = [];
      this.#endBatch();
      this.#onDefect(defect);
    }
    return null;
  }

  #endBatch(): void {
    this.#sending = null;
  }

  #countSent(events: number): void {
    const { counts, batchText } = this.#state;
    counts.sent.value += batchText.size;
    counts.merged.value += events - batchText.size;
    counts.writes.value += this.readers.size;
  }

  #nextBatch(isMerged: boolean): Batch {
    const entries = this.#pending;
    const { offset: to } = this.#state;
    const batch = {
      from: this.#sentTo,
      first: (entries[0] as StoredEntry).offset,
      to,
      text: this.#state.batchText.of({
        entries,
        isMerged,
        to,
        showsData: this.view.showsData,
        idAt: this.#idAt,
      }),
    };
    this.#countSent(entries.length);
    this.#pending = [];
    this.#recent.add(entries);
    this.#missedPrefix = this.#state.missedTexts.newPrefix();
    this.#sentTo = to;
    return batch;
  }
}

/**
 * Calls `give`, which makes so many writes and never throws, with each reader, and lets other work of the process run in between.
 * Null where the writes are those of one event-loop tick.
 */
function giveInTicks(
  readers: Iterable<ChannelReader>,
  writesEach: number,
  give: (reader: ChannelReader) => void,
): Promise<void> | null {
  const rest = readers[Symbol.iterator]();
  return giveSome(rest, writesEach, give) ? null : giveRest(rest, writesEach, give);
}

async function giveRest(...[rest, writesEach, give]: Parameters<typeof giveSome>): Promise<void> {
  do await nextIteration();
  while (!giveSome(rest, writesEach, give));
}

/** The calls of one tick. True where all readers had theirs. */
function giveSome(
  readers: Iterator<ChannelReader>,
  writesEach: number,
  give: (reader: ChannelReader) => void,
): boolean {
  for (let writes = 0; writes < WRITES_PER_TICK; writes += writesEach) {
    const { done, value } = readers.next();
    if (done === true) return true;
    give(value);
  }
  return false;
}
