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
  /** The first entry at the last offset. */
  #first: Entry | null = null;
  /** All of them, by the event itself and by its content, where channels made an event each. Null at most offsets, which have one. */
  #all: Map<ReaderEvent | string, Entry> | null = null;

  add(list: RecentEntries): void {
    this.#lists.add(list);
  }

  /** Idempotent. */
  remove(list: RecentEntries): void {
    if (this.#lists.delete(list)) list.release();
  }

  /** The entry for an event that a channel shows. Events of one offset come together. */
  entryOf(offset: number, event: ReaderEvent): Entry {
    if (offset !== this.#offset || this.#first === null) {
      this.#offset = offset;
      this.#all = null;
      this.#first = this.#add(offset, event);
      return this.#first;
    }
    if (this.#first.event === event) return this.#first;
    this.#all ??= new Map([[JSON.stringify(this.#first.event), this.#first]]);
    const known = this.#all.get(event);
    if (known !== undefined) return known;
    const content = JSON.stringify(event);
    const entry = this.#all.get(content) ?? this.#add(offset, event);
    this.#all.set(event, entry).set(content, entry);
    return entry;
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
