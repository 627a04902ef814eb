import { EntryQueue } from './entry-queue.ts';
import type { Entry } from './reader-event.ts';

/** How many entries are stored, and of how much text in all: less where the group's channels store too much together. */
const ENTRIES_MAX = 1_000;
const TEXT_MAX_LENGTH = 1_000_000;

/**
 * The last entries that the readers of a channel were sent, for readers who lag or reconnect. Costs 8 bytes for each entry;
 * the entries are shared by the channels of the group (see SharedEntries).
 */
export class RecentEntries {
  /** All entries after this offset are stored. */
  #from: number;
  readonly #entries = new EntryQueue();
  #isReleased = false;

  constructor(from: number) {
    this.#from = from;
  }

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry);
      entry.lists = (entry.lists ?? 0) + 1;
      this.trim();
    }
  }

  /** Whether all entries after an offset are stored. */
  covers(offset: number): boolean {
    return offset >= this.#from;
  }

  /** The entries after an offset; null when some of them are dropped. */
  after(offset: number): Entry[] | null {
    return this.covers(offset) ? this.#entries.after(offset) : null;
  }

  /** Drops everything, as if readers had been sent all entries up to this offset. */
  restart(from: number): void {
    while (this.#entries.length > 0) this.#drop();
    this.#from = from;
  }

  /** Drops the oldest entries above the limits, and those that are dropped in the whole group. */
  trim(): void {
    const entries = this.#entries;
    while (
      entries.length > ENTRIES_MAX ||
      entries.textLength > TEXT_MAX_LENGTH ||
      entries.first?.isDropped === true
    )
      this.#drop();
  }

  /** The group's entries do not depend on this list any more. Its own stay valid. */
  release(): void {
    this.#isReleased = true;
    for (const entry of this.#entries.after(-1)) this.#forget(entry);
  }

  #drop(): void {
    const entry = this.#entries.shift() as Entry;
    this.#from = entry.offset;
    if (!this.#isReleased) this.#forget(entry);
  }

  #forget(entry: Entry): void {
    entry.lists = (entry.lists ?? 0) - 1;
  }
}
