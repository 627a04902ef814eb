import { type Entry, textLength } from './reader-event.ts';

const CAPACITY_MIN = 16;

/**
 * Entries in order, to which some are added at the end and from which some are removed at the front. They are in a ring that
 * doubles when it is full, and never shrinks: an array that is cut at its front and grows at its end is copied again and again.
 */
export class EntryQueue {
  /** Its length is a power of two. */
  #ring = new Array<Entry | undefined>(CAPACITY_MIN).fill(undefined);
  /** Where the first entry is. */
  #first = 0;
  #length = 0;
  #textLength = 0;

  get length(): number {
    return this.#length;
  }

  /** How many characters the entries store, about. */
  get textLength(): number {
    return this.#textLength;
  }

  get first(): Entry | undefined {
    return this.#ring[this.#first];
  }

  push(entry: Entry): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[this.#indexOf(this.#length)] = entry;
    this.#length += 1;
    this.#textLength += textLength(entry);
  }

  /** Removes the first entry, and returns it. */
  shift(): Entry | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.#ring[this.#first] = undefined;
    this.#first = this.#indexOf(1);
    this.#length -= 1;
    this.#textLength -= textLength(first);
    return first;
  }

  /** The entries after an offset. Readers mostly have missed little, so the search begins at the end. */
  after(offset: number): Entry[] {
    let from = this.#length;
    while (from > 0 && this.#at(from - 1).offset > offset) from -= 1;
    return Array.from({ length: this.#length - from }, (_, index) => this.#at(from + index));
  }

  #at(index: number): Entry {
    return this.#ring[this.#indexOf(index)] as Entry;
  }

  #indexOf(index: number): number {
    return (this.#first + index) & (this.#ring.length - 1);
  }

  #grow(): void {
    const entries = this.after(-1);
    this.#ring = [...entries, ...new Array<undefined>(entries.length).fill(undefined)];
    this.#first = 0;
  }
}
