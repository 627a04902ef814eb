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

  /** Adds an entry, and returns its number. */
  push({ offset, event }: Entry): number {
    const rows = this.#rows;
    const place = rows.push();
    const length = textLength(event);
    rows.set(place, OFFSET, offset);
    rows.set(place, LENGTH, length);
    this.#textLength += length;
    this.#setEvent(place, event);
    return this.#from + rows.length - 1;
  }

  /** Removes the first entry. */
  shift(): void {
    this.#textLength -= this.lengthOf(this.#from);
    this.#rows.shift();
    this.#from += 1;
  }

  offsetOf(number: number): number {
    return this.#rows.get(this.#placeOf(number), OFFSET) as number;
  }

  /** How many characters the entry stores, about. */
  lengthOf(number: number): number {
    return this.#rows.get(this.#placeOf(number), LENGTH) as number;
  }

  entryOf(number: number): Entry {
    return { offset: this.offsetOf(number), event: this.#eventAt(this.#placeOf(number)) };
  }

  /** Another list has the entry. */
  retain(number: number): void {
    this.#rows.set(this.#placeOf(number), LISTS, (this.#listsOf(number) ?? 0) + 1);
  }

  /** A list has the entry no longer. */
  release(number: number): void {
    this.#rows.set(this.#placeOf(number), LISTS, (this.#listsOf(number) as number) - 1);
  }

  /** Whether lists had the first entry, and none has it any more. */
  get isFirstUnused(): boolean {
    return this.length > 0 && this.#listsOf(this.#from) === 0;
  }

  /** Undefined until a list has the entry. */
  #listsOf(number: number): number | undefined {
    return this.#rows.get(this.#placeOf(number), LISTS) as number | undefined;
  }

  #placeOf(number: number): number {
    return this.#rows.placeOf(number - this.#from);
  }

  #setEvent(place: number, event: ReaderEvent): void {
    const rows = this.#rows;
    if (event.type === 'durable' || event.type === 'user') {
      rows.set(place, EVENT, event);
      return;
    }
    rows.set(place, EVENT, event.type);
    rows.set(place, USER, event.userId);
    rows.set(place, LOCATION, event.location);
    if (event.type === 'arrived') {
      rows.set(place, DETAIL, event.from);
      rows.set(place, FLAG, event.isNew);
      rows.set(place, PROFILE, event.user);
    } else if (event.type === 'departed') {
      rows.set(place, DETAIL, event.reason);
      rows.set(place, FLAG, event.isDurable);
    } else rows.set(place, DETAIL, event.data);
  }

  #eventAt(place: number): ReaderEvent {
    const rows = this.#rows;
    const type = rows.get(place, EVENT) as 'arrived' | 'departed' | 'data' | ReaderEvent;
    if (typeof type === 'object') return type;
    const userId = rows.get(place, USER) as string;
    const location = rows.get(place, LOCATION) as Json;
    const detail = rows.get(place, DETAIL);
    if (type === 'data') return dataOf(userId, location, detail as Json | null);
    const flag = rows.get(place, FLAG) as boolean;
    if (type === 'departed') return departed(userId, location, detail as DepartureReason, flag);
    return arrived(userId, location, detail as Json | null, flag, rows.get(place, PROFILE) as Profile | null);
  }
}
