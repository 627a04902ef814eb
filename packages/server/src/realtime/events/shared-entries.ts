import { EntryRows } from './entry-rows.ts';
import type { ReaderEvent, StoredEntry } from './reader-event.ts';
import { RecentEntries } from './recent-entries.ts';

/** How many entries the channels of a group store together, and how much text in them. */
const ENTRIES_MAX = 10_000;
const TEXT_MAX_LENGTH = 4_000_000;

/**
 * The entries of a group's channels: channels that show the same event share one entry. Above a limit for the whole group
 * the older half is dropped from every channel; a channel by itself stores fewer (see RecentEntries). An entry takes some
 * 72 bytes and its text, and 8 bytes in each channel that shows it. What channels have yet to send is stored besides. The
 * oldest entries go when no channel stores them any more.
 */
export class SharedEntries {
  readonly #lists = new Set<RecentEntries>();
  readonly #rows = new EntryRows();
  #offset = -1;
  /** The first entry at the last offset. */
  #first: StoredEntry | null = null;
  /** All of them, by the event itself and by its content, where channels made an event each. Null at most offsets, which have one. */
  #all: Map<ReaderEvent | string, StoredEntry> | null = null;

  /** The entries of another channel, whose readers have everything up to this offset. */
  newList(from: number): RecentEntries {
    const list = new RecentEntries(this.#rows, from);
    this.#lists.add(list);
    return list;
  }

  /** The channel was closed: its list has nothing from then on. Idempotent. */
  remove(list: RecentEntries): void {
    if (this.#lists.delete(list)) list.restart(Number.POSITIVE_INFINITY);
  }

  /** The entry for an event that a channel shows. Events of one offset come together. */
  entryOf(offset: number, event: ReaderEvent): StoredEntry {
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

  #add(offset: number, event: ReaderEvent): StoredEntry {
    const number = this.#rows.push({ offset, event });
    this.#trim();
    return { offset, event, number };
  }

  #trim(): void {
    const rows = this.#rows;
    while (rows.isFirstUnused) rows.shift();
    if (rows.length <= ENTRIES_MAX && rows.textLength <= TEXT_MAX_LENGTH) return;
    const end = rows.from + rows.length;
    let left = rows.textLength;
    let from = rows.from;
    for (; end - from > ENTRIES_MAX / 2 || left > TEXT_MAX_LENGTH / 2; from += 1) left -= rows.lengthOf(from);
    // The entries of one offset go together: the lists can have them in another order.
    while (from < end && rows.offsetOf(from) === rows.offsetOf(from - 1)) from += 1;
    for (const list of this.#lists) list.dropBefore(from);
    while (rows.from < from) rows.shift();
  }
}
