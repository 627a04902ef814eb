import type { Json } from '../../values/json.ts';
import type { DurablePresence } from '../ports/durable-presence.ts';

/** After so many rows that do not match, the next match is searched by an index instead of row by row. */
export const MISMATCHES_BEFORE_SEEK = 8;

/** The first columns of a reading's row. */
export type DurableRow = [userId: string, location: Json, at: number];

export const toDurable = ([userId, location, at]: readonly [
  ...DurableRow,
  ...unknown[],
]): DurablePresence => ({
  userId,
  location,
  at,
});
