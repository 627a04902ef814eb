import type { DepartureReason } from '@rollcall/protocol';
import type { Profile } from '../../store/ports/users.ts';
import type { Json } from '../../values/json.ts';
import type {
  ArrivedEvent,
  DataEvent,
  DepartedEvent,
  DurableEvent,
  UserEvent,
} from '../../wire/event-text.ts';

/** A change as a reader receives it. A reader who applies them in order knows who is where. */
export type ReaderEvent =
  /** `isNew`: the user was not at the location before. */
  | (ArrivedEvent & { readonly isNew: boolean })
  /** `isNew`: the reader may know no durable location of the user. */
  | (DurableEvent & { readonly isNew: boolean })
  | DepartedEvent
  | DataEvent
  | UserEvent;

export type Arrival = Extract<ReaderEvent, { type: 'arrived' }>;

/** A reader's event with the offset of the group's event that it comes from; one of those can make many. */
export interface Entry {
  readonly offset: number;
  readonly event: ReaderEvent;
}

/** An entry that the channels of a group store, with its number among theirs. */
export interface StoredEntry extends Entry {
  readonly number: number;
}

export const arrived = (
  userId: string,
  location: Json,
  from: Json | null = null,
  isNew = true,
  user: Profile | null = null,
): Arrival => ({ type: 'arrived', userId, location, from, isNew, user });

export const dataOf = (userId: string, location: Json, data: Json | null): DataEvent => ({
  type: 'data',
  userId,
  location,
  data,
});

export const departed = (
  userId: string,
  location: Json,
  reason: DepartureReason,
  isDurable = false,
): ReaderEvent => ({ type: 'departed', userId, location, reason, isDurable });

export const durable = (userId: string, location: Json, at: number, isNew = true): ReaderEvent => ({
  type: 'durable',
  userId,
  location,
  at,
  isNew,
});

/** How many characters an event has, about. */
export function textLength(event: ReaderEvent): number {
  if (event.type === 'user') {
    const { name, profilePictureUrl } = event.user;
    return event.userId.length + (name?.length ?? 0) + (profilePictureUrl?.length ?? 0);
  }
  const data = event.type === 'data' ? (event.data?.length ?? 0) : 0;
  return event.userId.length + event.location.length + data;
}
