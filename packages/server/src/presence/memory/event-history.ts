import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import { RowRing } from '../../values/row-ring.ts';
import type { LeaveReason, PresenceEvent } from '../presence-store.ts';

/** The columns of a row. */
const LENGTH = 0;
/** The type of an event whose fields follow, or an event of a type that is seldom. */
const EVENT = 1;
const USER = 2;
const LOCATION = 3;
const DETAIL = 4;
const INCARNATION = 5;
const DATA = 6;
const WIDTH = 7;

/** The last events of a group, in order. Costs 56 bytes for each, and its texts. */
export class EventHistory {
  readonly #rows = new RowRing(WIDTH);
  #textLength = 0;

  get length(): number {
    return this.#rows.length;
  }

  /** The length of the locations, data and user IDs of all events; the rest is short. */
  get textLength(): number {
    return this.#textLength;
  }

  push(event: PresenceEvent): void {
    const rows = this.#rows;
    const index = rows.push();
    const length = textLength(event);
    this.#textLength += length;
    rows.set(index, LENGTH, length);
    if (event.type !== 'arrived' && event.type !== 'departed' && event.type !== 'data') {
      rows.set(index, EVENT, event);
      return;
    }
    rows.set(index, EVENT, event.type);
    rows.set(index, USER, event.userId);
    rows.set(index, LOCATION, event.location);
    if (event.type === 'departed') rows.set(index, DETAIL, event.reason);
    else rows.set(index, DATA, event.data);
    if (event.type !== 'arrived') return;
    rows.set(index, DETAIL, event.from);
    rows.set(index, INCARNATION, event.incarnation);
  }

  /** Removes the first event. */
  shift(): void {
    this.#textLength -= this.#rows.get(this.#rows.indexOf(0), LENGTH) as number;
    this.#rows.shift();
  }

  /** The event that is so many events after the first one. */
  at(events: number): PresenceEvent {
    const rows = this.#rows;
    const index = rows.indexOf(events);
    const type = rows.get(index, EVENT) as 'arrived' | 'departed' | 'data' | PresenceEvent;
    if (typeof type === 'object') return type;
    const userId = rows.get(index, USER) as string;
    const location = rows.get(index, LOCATION) as Json;
    const detail = rows.get(index, DETAIL);
    if (type === 'departed') return { type, userId, location, reason: detail as LeaveReason };
    const data = rows.get(index, DATA) as Json | null | undefined;
    if (type === 'data') return { type, userId, location, data: data as Json | null };
    const incarnation = rows.get(index, INCARNATION) as Incarnation;
    const event = { type, userId, incarnation, location, from: detail as Json | null };
    return data === undefined ? event : { ...event, data: data as Json };
  }
}

function textLength(event: PresenceEvent): number {
  if ('userIds' in event) return event.userIds.reduce((sum, id) => sum + id.length, 0);
  if (!('location' in event)) return 0;
  const from = 'from' in event ? (event.from?.length ?? 0) : 0;
  const data = 'data' in event ? (event.data?.length ?? 0) : 0;
  return event.userId.length + event.location.length + from + data;
}
