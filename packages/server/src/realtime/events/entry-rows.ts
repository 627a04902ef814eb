import type { DepartureReason } from '@rollcall/protocol';
import type { Profile } from '../../store/ports/users.ts';
import type { Json } from '../../values/json.ts';
import { RowRing } from '../../values/row-ring.ts';
import { arrived, dataOf, departed, type Entry, type ReaderEvent, textLength } from './reader-event.ts';

/** The columns of a row. What the last three have depends on the type of the event. */
const OFFSET = 0;
const LISTS = 1;
const LENGTH = 2;
/** The type of an event whose fields follow, or an event of a type that is seldom. */
const EVENT = 3;
const USER = 4;
const LOCATION = 5;
const DETAIL = 6;
const FLAG = 7;
const PROFILE = 8;
const WIDTH = 9;

/**
 * The entries that the channels of a group store, in order, each once. An entry has a number, one greater than that of the entry
 * before. Costs 72 bytes for each, and its texts.
 */
export class EntryRows {
  readonly #rows = new RowRing(WIDTH);
  #from = 0;
  #textLength = 0;

  get length(): number {
    return this.#rows.length;
  }

  /** The number of the first entry: earlier ones were removed. */
  get from(): number {
    return this.#from;
  }

  /** How many characters the entries store, about. */
  get textLength(): number {
    return this.#textLength;
  }

  push({ offset, event }: Entry): number {
    const rows = this.#rows;
    const index = rows.push();
    const length = textLength(event);
    rows.set(index, OFFSET, offset);
    rows.set(index, LENGTH, length);
    this.#textLength += length;
    this.#setEvent(index, event);
    return this.#from + rows.length - 1;
  }

  /** Removes the first entry. */
  shift(): void {
    this.#textLength -= this.lengthOf(this.#from);
    this.#rows.shift();
    this.#from += 1;
  }

  offsetOf(number: number): number {
    return this.#rows.get(this.#indexOf(number), OFFSET) as number;
  }

  /** How many characters the entry stores, about. */
  lengthOf(number: number): number {
    return this.#rows.get(this.#indexOf(number), LENGTH) as number;
  }

  entryOf(number: number): Entry {
    return { offset: this.offsetOf(number), event: this.#eventAt(this.#indexOf(number)) };
  }

  /** Another list has the entry. */
  retain(number: number): void {
    this.#rows.set(this.#indexOf(number), LISTS, (this.#listsOf(number) ?? 0) + 1);
  }

  /** A list has the entry no longer. */
  release(number: number): void {
    this.#rows.set(this.#indexOf(number), LISTS, (this.#listsOf(number) as number) - 1);
  }

  /** Whether lists had the first entry, and none has it any more. */
  get isFirstUnused(): boolean {
    return this.length > 0 && this.#listsOf(this.#from) === 0;
  }

  /** Undefined until a list has the entry. */
  #listsOf(number: number): number | undefined {
    return this.#rows.get(this.#indexOf(number), LISTS) as number | undefined;
  }

  #indexOf(number: number): number {
    return this.#rows.indexOf(number - this.#from);
  }

  #setEvent(index: number, event: ReaderEvent): void {
    const rows = this.#rows;
    if (event.type === 'durable' || event.type === 'user') {
      rows.set(index, EVENT, event);
      return;
    }
    rows.set(index, EVENT, event.type);
    rows.set(index, USER, event.userId);
    rows.set(index, LOCATION, event.location);
    if (event.type === 'arrived') {
      rows.set(index, DETAIL, event.from);
      rows.set(index, FLAG, event.isNew);
      rows.set(index, PROFILE, event.user);
    } else if (event.type === 'departed') {
      rows.set(index, DETAIL, event.reason);
      rows.set(index, FLAG, event.isDurable);
    } else rows.set(index, DETAIL, event.data);
  }

  #eventAt(index: number): ReaderEvent {
    const rows = this.#rows;
    const type = rows.get(index, EVENT) as 'arrived' | 'departed' | 'data' | ReaderEvent;
    if (typeof type === 'object') return type;
    const userId = rows.get(index, USER) as string;
    const location = rows.get(index, LOCATION) as Json;
    const detail = rows.get(index, DETAIL);
    if (type === 'data') return dataOf(userId, location, detail as Json | null);
    const flag = rows.get(index, FLAG) as boolean;
    if (type === 'departed') return departed(userId, location, detail as DepartureReason, flag);
    return arrived(userId, location, detail as Json | null, flag, rows.get(index, PROFILE) as Profile | null);
  }
}
