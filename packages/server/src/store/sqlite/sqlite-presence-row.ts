import type { DurablePresence } from '../store.ts';
import type { Row } from './sqlite-connection.ts';

/** After so many rows in vain, what comes next is looked up instead of walked to. */
export const PATIENCE = 8;

/** A row that begins with user, location and time. */
export function toDurable(row: Row): DurablePresence {
  return { userId: row[0] as string, location: row[1] as string, at: row[2] as number };
}
