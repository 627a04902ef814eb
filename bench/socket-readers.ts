import { readStamps } from './socket-stamps.ts';

/** In `{"watch":2,"event":"…` the name of the event begins here; only that of a snapshot begins with an `s`. */
const NAME_AT = '{"watch":2,"event":"'.length;
const SNAPSHOT = 's'.charCodeAt(0);
/** Only so many readers are timed: the first ones, which are in different groups as far as there are that many. */
const TIMED = 50;
const NONE = -1;

/**
 * What readers make of the events with stamps that they get, as a client does: the last update of each page counts. An event stands
 * for all updates of its page that the reader does not have yet: the server may have merged them.
 */
export class SocketReaders {
  /** From the time when an update was due to the first event with it, or with a later one of its page, in milliseconds. */
  ages: number[] = [];
  /** Of each page, by the number of the update. The first number is of no update: the page begins with it. */
  readonly #dueAt: number[][];
  /** The number of the last update that a reader has, by reader and page. */
  readonly #last: readonly Int32Array[];

  constructor(readers: number, pages: number) {
    this.#dueAt = Array.from({ length: pages }, () => [Number.NaN]);
    this.#last = Array.from({ length: readers }, () => new Int32Array(pages).fill(NONE));
  }

  /** A page sends its next update. */
  updated(page: number, dueAt: number): void {
    this.#dueAt[page]?.push(dueAt);
  }

  /** A reader gets an event, which is a whole message. */
  receive(reader: number, bytes: Buffer, from: number, end: number): void {
    const last = this.#last[reader] as Int32Array;
    const isSnapshot = bytes[from + NAME_AT] === SNAPSHOT;
    const now = reader < TIMED ? performance.now() : 0;
    readStamps(bytes, from, end, (page, number) => {
      if (reader < TIMED) this.#time(page, last[page] as number, number, now);
      last[page] = number;
      // A move also has the location before it, behind its own.
      return isSnapshot;
    });
  }

  /** How many of these readers have exactly what a reading of the server has, for these pages. */
  countLevel(readers: readonly number[], pages: readonly number[], reading: Buffer): number {
    const read = new Map<number, number>();
    readStamps(reading, 0, reading.length, (page, number) => {
      read.set(page, number);
      return true;
    });
    const isLevel = (last: Int32Array) => pages.every((page) => last[page] === (read.get(page) ?? NONE));
    return readers.filter((reader) => isLevel(this.#last[reader] as Int32Array)).length;
  }

  #time(page: number, before: number, number: number, now: number): void {
    const dueAt = this.#dueAt[page] as number[];
    for (let each = Math.max(before + 1, 1); each <= number; each += 1)
      this.ages.push(now - (dueAt[each] as number));
  }
}
