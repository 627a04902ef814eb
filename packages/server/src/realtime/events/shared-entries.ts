import { EntryQueue } from './entry-queue.ts';
import type { Entry, ReaderEvent } from './reader-event.ts';
import type { RecentEntries } from './recent-entries.ts';

/** How many entries the channels of a group store together, and how much text in them. */
const ENTRIES_MAX = 10_000;
const TEXT_MAX_LENGTH = 4_000_000;

/**
 * The entries of a group's channels: channels that show the same event share one entry. Above a limit for the whole group
 * the older half is dropped from every channel; a channel by itself stores fewer (see RecentEntries). An entry takes some
 * 150 bytes and its text, and 8 bytes in each channel that shows it. What channels have yet to send is stored besides. The
 * oldest entries go when no channel stores them any more.
 */
export class SharedEntries {
  readonly #lists = new Set<RecentEntries>();
  readonly #entries = new EntryQueue();
  #offset = -1;
  /** The entries at the last offset: by the event itself, and by its content where channels made an event each. */
  readonly #byEvent = new Map<ReaderEvent, Entry>();
  readonly #byContent = new Map<string, Entry>();

  add(list: RecentEntries): void {
    this.#lists.add(list);
  }

  /** Idempotent. */
  remove(list: RecentEntries): void {
    if (this.#lists.delete(list)) list.release();
  }

  /** The entry for an event that a channel shows. Events of one offset come together. */
  entryOf(offset: number, event: ReaderEvent): Entry {
    if (offset !== this.#offset) this.#begin(offset);
    const known = this.#byEvent.get(event);
    if (known !== undefined) return known;
    const content = this.#contentOf(event);
    const entry = this.#byContent.get(content ?? '') ?? this.#add(offset, event);
    this.#byEvent.set(event, entry);
    if (content !== null) this.#byContent.set(content, entry);
    return entry;
  }

  #begin(offset: number): void {
    this.#offset = offset;
    this.#byEvent.clear();
    // Nearly always empty: clearing allocates.
    if (this.#byContent.size > 0) this.#byContent.clear();
  }

  /** Null for the first event of an offset: most offsets have no other one to compare it with. */
  #contentOf(event: ReaderEvent): string | null {
    if (this.#byEvent.size === 0) return null;
    if (this.#byContent.size === 0)
      for (const [first, entry] of this.#byEvent) this.#byContent.set(JSON.stringify(first), entry);
    return JSON.stringify(event);
  }

  #add(offset: number, event: ReaderEvent): Entry {
    const entry: Entry = { offset, event, lists: undefined, isDropped: false };
    this.#entries.push(entry);
    this.#trim();
    return entry;
  }

  #trim(): void {
    const entries = this.#entries;
    while (entries.first?.lists === 0) entries.shift();
    if (entries.length <= ENTRIES_MAX && entries.textLength <= TEXT_MAX_LENGTH) return;
    while (entries.length > ENTRIES_MAX / 2 || entries.textLength > TEXT_MAX_LENGTH / 2)
      (entries.shift() as Entry).isDropped = true;
    for (const list of this.#lists) list.trim();
  }
}
