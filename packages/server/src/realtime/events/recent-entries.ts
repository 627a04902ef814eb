import { RowRing } from '../../values/row-ring.ts';
import type { EntryRows } from './entry-rows.ts';
import type { Entry, StoredEntry } from './reader-event.ts';

/** How many entries are stored, and of how much text in all: less where the group's channels store too much together. */
const ENTRIES_MAX = 1_000;
const TEXT_MAX_LENGTH = 1_000_000;

/**
 * The last entries that the readers of a channel were sent, for readers who lag or reconnect. Costs 8 bytes for each entry:
 * its number among the entries of the group (see SharedEntries).
 */
export class RecentEntries {
  readonly #rows: EntryRows;
  readonly #numbers = new RowRing(1);
  #textLength = 0;
  /** All entries after this offset are stored. */
  #from: number;

  constructor(rows: EntryRows, from: number) {
    this.#rows = rows;
    this.#from = from;
  }

  add(entries: readonly StoredEntry[]): void {
    for (const { number, offset } of entries) {
      // It was dropped before it was sent.
      if (number < this.#rows.from) this.restart(offset);
      else this.#add(number);
    }
  }

  /** Whether all entries after an offset are stored. */
  covers(offset: number): boolean {
    return offset >= this.#from;
  }

  /**
   * The entries after an offset; null when some of them are dropped. Readers mostly have missed little, so the search begins at the
   * end.
   */
  after(offset: number): Entry[] | null {
    if (!this.covers(offset)) return null;
    const { length } = this.#numbers;
    let from = length;
    while (from > 0 && this.#rows.offsetOf(this.#numberAt(from - 1)) > offset) from -= 1;
    return Array.from({ length: length - from }, (_, index) =>
      this.#rows.entryOf(this.#numberAt(from + index)),
    );
  }

  /** Drops everything, as if readers had been sent all entries up to this offset. */
  restart(from: number): void {
    while (this.#numbers.length > 0) this.#drop();
    this.#from = from;
  }

  /** Drops the entries before this number, which are about to be removed. */
  dropBefore(number: number): void {
    while (this.#numbers.length > 0 && this.#numberAt(0) < number) this.#drop();
  }

  #add(number: number): void {
    this.#numbers.set(this.#numbers.push(), 0, number);
    this.#textLength += this.#rows.lengthOf(number);
    this.#rows.retain(number);
    while (this.#numbers.length > ENTRIES_MAX || this.#textLength > TEXT_MAX_LENGTH) this.#drop();
  }

  #drop(): void {
    const number = this.#numberAt(0);
    this.#numbers.shift();
    this.#from = this.#rows.offsetOf(number);
    this.#textLength -= this.#rows.lengthOf(number);
    this.#rows.release(number);
  }

  #numberAt(index: number): number {
    return this.#numbers.get(this.#numbers.indexOf(index), 0) as number;
  }
}
