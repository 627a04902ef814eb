import { type Entry, textLength } from './reader-event.ts';

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
  #entries: Entry[] = [];
  #textLength = 0;

  constructor(from: number) {
    this.#from = from;
  }

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#textLength += textLength(entry);
    }
    this.trim();
  }

  /** Whether all entries after an offset are stored. */
  covers(offset: number): boolean {
    return offset >= this.#from;
  }

  /** The entries after an offset; null when some of them are dropped. */
  after(offset: number): Entry[] | null {
    if (!this.covers(offset)) return null;
    const index = this.#entries.findIndex((entry) => entry.offset > offset);
    return index === -1 ? [] : this.#entries.slice(index);
  }

  /** Drops everything, as if readers had been sent all entries up to this offset. */
  restart(from: number): void {
    this.#from = from;
    this.#entries = [];
    this.#textLength = 0;
  }

  /** Drops the oldest entries above the limits, and those that are dropped in the whole group. */
  trim(): void {
    let dropped = 0;
    for (const entry of this.#entries) {
      const isWithin = this.#entries.length - dropped <= ENTRIES_MAX && this.#textLength <= TEXT_MAX_LENGTH;
      if (isWithin && entry.isDropped !== true) break;
      this.#textLength -= textLength(entry);
      this.#from = entry.offset;
      dropped += 1;
    }
    if (dropped > 0) this.#entries.splice(0, dropped);
  }
}
