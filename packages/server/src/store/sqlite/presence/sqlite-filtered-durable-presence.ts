import type { Json } from '../../../values/json.ts';
import type { LocationFilter } from '../../../values/location-filter.ts';
import { locationTest } from '../../../values/location-pairs.ts';
import type { PageRequest } from '../../../values/page.ts';
import type { DurablePresence } from '../../ports/durable-presence.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import { locationKey, pairKeys } from './sqlite-location-keys.ts';

/** After so many rows that do not match, the next match is searched by an index instead of row by row. */
export const MISMATCHES_BEFORE_SEEK = 8;
/** Of a user with many matching locations, so many of the newest are tried before all of them are read. */
const NEWEST_TRIED = 64;
/** Beyond the number of any presence. */
const LAST = Number.MAX_SAFE_INTEGER;

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

/** Prepares the reads of a filtered page. They take a group's number first. */
export const locationStatements = (prepare: SqliteReader['prepare']) => ({
  /** The locations of a user, newest first. */
  newestOfUser: prepare<DurableRow>(`
    SELECT d.user_id, d.location, d.updated_at FROM durable_presence d INDEXED BY durable_presence_by_time
    WHERE d.group_no = ? AND d.user_id = ? ORDER BY d.updated_at DESC`),
  /** The locations with a key from a position on, in order. */
  withKey: prepare<[...DurableRow, isActive: number, presenceNo: number]>(`
    SELECT d.user_id, d.location, d.updated_at, u.status = 'active', d.presence_no FROM durable_places p
      CROSS JOIN durable_presence d ON d.presence_no = p.presence_no CROSS JOIN users u ON u.user_no = d.user_no
    WHERE p.group_no = ? AND p.place_key = ? AND (p.user_id, p.presence_no) >= (?, ?)
    ORDER BY p.user_id, p.presence_no`),
  /** The first position with a key from a position on. */
  seek: prepare<[userId: string, presenceNo: number]>(`
    SELECT user_id, presence_no FROM durable_places
    WHERE group_no = ? AND place_key = ? AND (user_id, presence_no) >= (?, ?)
    ORDER BY user_id, presence_no LIMIT 1`),
});
type LocationStatements = ReturnType<typeof locationStatements>;

/** Where the locations with one key are read next; they are in order of user, then of the presence's number. */
interface Position {
  readonly key: number;
  readonly userId: string;
  readonly presenceNo: number;
}

/**
 * Reads one page of durable presence with a filter. It reads the locations that have one key of the filter. When some of them did
 * not match, it seeks the next location of each key, and goes on with the key that leads furthest. So it never reads more
 * than the rarest key has, and needs no statistics of how often a key occurs.
 */
export function readFiltered(
  statements: LocationStatements,
  groupNo: number,
  filter: NonNullable<LocationFilter>,
  page: PageRequest,
): DurablePresence[] {
  const keys = filter.partial ? pairKeys(filter.location) : [locationKey(filter.location)];
  const passes = locationTest(filter);
  const found: DurablePresence[] = [];
  /** Matching locations read of the user found last. */
  let matches = 0;

  /** The first position, from this one on, that no key's next location is after; null when a key has no more. */
  function seek(userId: string, presenceNo: number): Position | null {
    let position = { key: keys[0] as number, userId, presenceNo };
    for (const key of keys) {
      const row = statements.seek.get(groupNo, key, position.userId, position.presenceNo);
      if (row === undefined) return null;
      const [user, number] = row;
      if (user === position.userId && number === position.presenceNo) continue;
      position = { key, userId: user, presenceNo: number };
    }
    return position;
  }

  /** Takes what matches. Returns where to go on when many rows in a row did not match; null at the end. */
  function walk({ key, userId: from, presenceNo: number }: Position): Position | null {
    let mismatches = 0;
    for (const row of statements.withKey.iterate(groupNo, key, from, number)) {
      const [userId, location, , isActive, presenceNo] = row;
      if (found.length === page.limit && userId !== found.at(-1)?.userId) return null;
      if (isActive === 1 && passes(location)) {
        mismatches = 0;
        take(toDurable(row));
        if (matches === MISMATCHES_BEFORE_SEEK && takeNewest(userId)) return seek(userId, LAST);
      } else {
        mismatches += 1;
        if (mismatches === MISMATCHES_BEFORE_SEEK)
          return seek(userId, isActive === 1 ? presenceNo + 1 : LAST);
      }
    }
    return null;
  }

  /** Adds a match, unless a later one of the user is there. */
  function take(match: DurablePresence): void {
    const last = found.at(-1);
    if (last?.userId !== match.userId) {
      found.push(match);
      matches = 1;
    } else {
      if (match.at > last.at) found[found.length - 1] = match;
      matches += 1;
    }
  }

  /** Searches the latest match of a user with many of them from the newest on. False when it is not among the newest. */
  function takeNewest(userId: string): boolean {
    let tried = 0;
    for (const row of statements.newestOfUser.iterate(groupNo, userId)) {
      if (passes(row[1])) {
        found[found.length - 1] = toDurable(row);
        return true;
      }
      tried += 1;
      if (tried === NEWEST_TRIED) break;
    }
    return false;
  }

  let next = seek(page.after ?? '', LAST);
  while (next !== null) next = walk(next);
  return found;
}
