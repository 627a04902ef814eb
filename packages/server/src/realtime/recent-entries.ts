import type { Entry } from './reader-event.ts';

/** How many entries are kept, and of how much text in all. */
const ENTRIES_MAX = 1_000;
const TEXT_MAX_LENGTH = 1_000_000;

/** The last entries that readers were told, for those who lag and those who come back. */
export class RecentEntries {
  /** All entries after this offset are kept. */
  #from: number;
  #entries: Entry[] = [];
  #textLength = 0;
  #count = 0;

  constructor(from: number) {
    this.#from = from;
  }

  /** How many entries there have ever been. */
  get count(): number {
    return this.#count;
  }

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#textLength += textLength(entry);
    }
    this.#count += entries.length;
    this.#trim();
  }

  /** Whether all entries after an offset are kept. */
  keeps(offset: number): boolean {
    return offset >= this.#from;
  }

  /** The entries after an offset; null when they are not all kept. */
  after(offset: number): Entry[] | null {
    if (!this.keeps(offset)) return null;
    const index = this.#entries.findIndex((entry) => entry.offset > offset);
    return index === -1 ? [] : this.#entries.slice(index);
  }

  #trim(): void {
    let dropped = 0;
    for (const entry of this.#entries) {
      if (this.#entries.length - dropped <= ENTRIES_MAX && this.#textLength <= TEXT_MAX_LENGTH) break;
      this.#textLength -= textLength(entry);
      this.#from = entry.offset;
      dropped += 1;
    }
    if (dropped > 0) this.#entries.splice(0, dropped);
  }
}

const textLength = ({ event: { userId, location } }: Entry) => userId.length + location.length;
