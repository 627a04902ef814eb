import { type Entry, textLength } from './reader-event.ts';

/** So many removed entries stay in the array until all of them are cut off together: cutting moves the rest. */
const REMOVED_MAX = 128;

/** Entries in order, to which some are added at the end and from which some are removed at the front. */
export class EntryQueue {
  readonly #entries: Entry[] = [];
  /** Where the first entry is; those before it are removed. */
  #first = 0;
  #textLength = 0;

  get length(): number {
    return this.#entries.length - this.#first;
  }

  /** How many characters the entries store, about. */
  get textLength(): number {
    return this.#textLength;
  }

  get first(): Entry | undefined {
    return this.#entries[this.#first];
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
    this.#textLength += textLength(entry);
  }

  /** Removes the first entry, and returns it. */
  shift(): Entry | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.#textLength -= textLength(first);
    this.#first += 1;
    if (this.#first === REMOVED_MAX) {
      this.#entries.splice(0, REMOVED_MAX);
      this.#first = 0;
    }
    return first;
  }

  /** The entries after an offset. Readers mostly have missed little, so the search begins at the end. */
  after(offset: number): Entry[] {
    let from = this.#entries.length;
    while (from > this.#first && (this.#entries[from - 1] as Entry).offset > offset) from -= 1;
    return this.#entries.slice(from);
  }
}
