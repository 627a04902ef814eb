import type { DepartureReason } from '@rollcall/protocol';
import type { Json } from '../store/store.ts';

/** A change as a reader is told of it. A reader who takes them in order knows who is where. */
export type ReaderEvent =
  | {
      readonly type: 'arrived';
      readonly userId: string;
      readonly location: Json;
      /** Where they moved from; null where they came. */
      readonly from: Json | null;
      /** They were not at the location before. */
      readonly isNew: boolean;
    }
  | {
      readonly type: 'departed';
      readonly userId: string;
      readonly location: Json;
      readonly reason: DepartureReason;
      /** It is the durable place that is none any more, and no other. */
      readonly isDurable: boolean;
    }
  /** The durable place, in place of another. */
  | { readonly type: 'durable'; readonly userId: string; readonly location: Json; readonly at: number };

/** An event with the offset of the group's event that it comes of; one of those may make many. */
export interface Entry {
  readonly offset: number;
  readonly event: ReaderEvent;
  /** The entry is not to be stored any longer, because the group's channels store too much. */
  isDropped?: boolean;
}

export const arrived = (
  userId: string,
  location: Json,
  from: Json | null = null,
  isNew = true,
): ReaderEvent => ({ type: 'arrived', userId, location, from, isNew });

export const departed = (
  userId: string,
  location: Json,
  reason: DepartureReason,
  isDurable = false,
): ReaderEvent => ({ type: 'departed', userId, location, reason, isDurable });

export const durable = (userId: string, location: Json, at: number): ReaderEvent => ({
  type: 'durable',
  userId,
  location,
  at,
});
