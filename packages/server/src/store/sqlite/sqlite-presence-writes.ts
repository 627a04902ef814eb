import type { DurableBounds } from '../durable-bounds.ts';
import type {
  CarriedRecord,
  DurablePresenceOutcome,
  DurablePresenceUpdate,
  Json,
  ProjectKey,
  WriteStamp,
} from '../store.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import { placeKey, placeKeys } from './sqlite-place-keys.ts';
import { mayBePresent, STANDING, toStanding } from './sqlite-standings.ts';

type ImportedPresence = Extract<CarriedRecord, { type: 'durablePresence' }>;
type SetPresence = Omit<Extract<DurablePresenceOutcome, { kind: 'set' }>, 'kind'>;

/** What a user has of durable presence in a group. */
interface Usage {
  locations: number;
  bytes: number;
}

type StoredUsage = readonly [locations: number, bytes: number, latest: number | null];
const NO_USAGE: StoredUsage = [0, 0, null];

/** A location as its row has it. */
interface StoredLocation {
  readonly presenceNo: number;
  readonly groupNo: number;
  readonly userId: string;
  readonly location: Json;
}

/**
 * Writes of durable presence, on the writer's thread. The tables of it change here and nowhere else, but for deleted
 * projects. A write costs a few look-ups, and the removal of what it ends.
 */
export class PresenceWrites {
  readonly #bounds: DurableBounds;
  readonly #standing;
  readonly #usage;
  readonly #setUsage;
  readonly #find;
  readonly #oldest;
  readonly #insert;
  readonly #renew;
  readonly #move;
  readonly #remove;
  readonly #addPlace;
  readonly #removePlace;
  readonly #ofUser;
  readonly #removeOfUser;
  readonly #removeOfGroup;
  readonly #removeUsage;
  readonly #removePlacesOfGroup;
  readonly #removeUsagesOfGroup;

  constructor(connection: SqliteConnection, bounds: DurableBounds) {
    this.#bounds = bounds;
    const prepare = (sql: string) => connection.prepare(sql);
    this.#standing = prepare(STANDING);
    this.#usage = prepare(
      'SELECT locations, bytes, latest_at FROM durable_usage WHERE group_no = ? AND user_id = ?',
    );
    this.#setUsage = prepare(`
      INSERT INTO durable_usage (group_no, user_id, locations, bytes, latest_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET locations = excluded.locations, bytes = excluded.bytes,
        latest_at = excluded.latest_at`);
    this.#find = prepare(`
      SELECT presence_no, location FROM durable_presence INDEXED BY durable_presence_by_region
      WHERE group_no = ? AND user_id = ? AND region_key = ? AND region = ?`);
    this.#oldest = prepare(`
      SELECT presence_no, location, updated_at FROM durable_presence INDEXED BY durable_presence_by_time
      WHERE group_no = ? AND user_id = ? ORDER BY updated_at LIMIT 1`);
    this.#insert = prepare(`
      INSERT INTO durable_presence (group_no, user_id, region_key, user_no, updated_at, location, region)
      VALUES (?, ?, ?, ?, ?, ?, ?)`);
    this.#renew = prepare('UPDATE durable_presence SET updated_at = ? WHERE presence_no = ?');
    this.#move = prepare('UPDATE durable_presence SET updated_at = ?, location = ? WHERE presence_no = ?');
    this.#remove = prepare('DELETE FROM durable_presence WHERE presence_no = ?');
    this.#addPlace = prepare(
      'INSERT INTO durable_places (group_no, place_key, user_id, presence_no) VALUES (?, ?, ?, ?)',
    );
    this.#removePlace = prepare(
      'DELETE FROM durable_places WHERE group_no = ? AND place_key = ? AND user_id = ? AND presence_no = ?',
    );
    this.#ofUser = prepare(
      'SELECT presence_no, location FROM durable_presence WHERE group_no = ? AND user_id = ?',
    );
    this.#removeOfUser = prepare('DELETE FROM durable_presence WHERE group_no = ? AND user_id = ?');
    this.#removeOfGroup = prepare('DELETE FROM durable_presence WHERE group_no = ?');
    this.#removeUsage = prepare('DELETE FROM durable_usage WHERE group_no = ? AND user_id = ?');
    this.#removePlacesOfGroup = prepare('DELETE FROM durable_places WHERE group_no = ?');
    this.#removeUsagesOfGroup = prepare('DELETE FROM durable_usage WHERE group_no = ?');
  }

  put(project: ProjectKey, update: DurablePresenceUpdate, { now }: WriteStamp): DurablePresenceOutcome {
    const row = this.#standing.get(project, update.groupId, update.userId) as Row;
    const standing = toStanding(row);
    if (!mayBePresent(standing)) return { kind: 'refused', standing };
    const timeOf = (latest: number | null) => (latest === null ? now : Math.max(now, latest + 1));
    return { kind: 'set', ...this.#set(row, update, timeOf) };
  }

  /** Imports what another store had, whatever the statuses are. False where there is no such member. */
  carryIn(project: ProjectKey, presence: ImportedPresence): boolean {
    const row = this.#standing.get(project, presence.groupId, presence.userId) as Row;
    if (toStanding(row).incarnation === null) return false;
    this.#set(row, presence, () => presence.at);
    return true;
  }

  /** Removes all locations of a user in a group. */
  removeUser(groupNo: number, userId: string): void {
    const found = this.#ofUser.all(groupNo, userId) as [number, Json][];
    if (found.length === 0) return;
    for (const [presenceNo, location] of found)
      this.#removeKeys({ presenceNo, groupNo, userId, location }, placeKeys(location));
    this.#removeOfUser.run(groupNo, userId);
    this.#removeUsage.run(groupNo, userId);
  }

  /** Removes all locations in a group. */
  removeGroup(groupNo: number): void {
    this.#removePlacesOfGroup.run(groupNo);
    this.#removeOfGroup.run(groupNo);
    this.#removeUsagesOfGroup.run(groupNo);
  }

  /** Sets a region's location at the time that `timeOf` makes of the latest one, and ends what exceeds the bounds. */
  #set(row: Row, update: DurablePresenceUpdate, timeOf: (latest: number | null) => number): SetPresence {
    const [userNo, groupNo] = row.slice(2) as [number, number];
    const { userId, region, location } = update;
    const [locations, bytes, latest] = (this.#usage.get(groupNo, userId) ?? NO_USAGE) as StoredUsage;
    const at = timeOf(latest);
    const usage: Usage = { locations, bytes: bytes + byteLength(location) };
    const before = this.#find.get(groupNo, userId, placeKey(region), region) as [number, Json] | undefined;
    const previous = before?.[1] ?? null;
    if (before === undefined) {
      const values = [groupNo, userId, placeKey(region), userNo, at, location, region] as const;
      const presenceNo = this.#insert.insert(...values);
      this.#addKeys({ presenceNo, groupNo, userId, location }, placeKeys(location));
      usage.locations += 1;
    } else {
      this.#replace({ presenceNo: before[0], groupNo, userId, location: before[1] }, location, at);
      usage.bytes -= byteLength(before[1]);
    }
    const endedTo = this.#endOldest(groupNo, userId, usage);
    this.#setUsage.run(groupNo, userId, usage.locations, usage.bytes, Math.max(latest ?? at, at));
    return { previous, at, endedTo };
  }

  /** A location that is only renewed keeps its keys. */
  #replace(stored: StoredLocation, location: Json, at: number): void {
    if (stored.location === location) {
      this.#renew.run(at, stored.presenceNo);
      return;
    }
    const [left, entered] = [placeKeys(stored.location), placeKeys(location)];
    this.#removeKeys(stored, left.difference(entered));
    this.#addKeys(stored, entered.difference(left));
    this.#move.run(at, location, stored.presenceNo);
  }

  /** Ends the oldest locations until the bounds hold, and counts them off; the time of the latest that ended, or null. */
  #endOldest(groupNo: number, userId: string, usage: Usage): number | null {
    let endedTo: number | null = null;
    while (usage.locations > 1 && this.#exceeds(usage)) {
      const [presenceNo, location, at] = this.#oldest.get(groupNo, userId) as [number, Json, number];
      this.#removeKeys({ presenceNo, groupNo, userId, location }, placeKeys(location));
      this.#remove.run(presenceNo);
      usage.locations -= 1;
      usage.bytes -= byteLength(location);
      endedTo = at;
    }
    return endedTo;
  }

  #exceeds({ locations, bytes }: Usage): boolean {
    return locations > this.#bounds.locations || bytes > this.#bounds.bytes;
  }

  #addKeys({ presenceNo, groupNo, userId }: StoredLocation, keys: ReadonlySet<number>): void {
    for (const key of keys) this.#addPlace.run(groupNo, key, userId, presenceNo);
  }

  #removeKeys({ presenceNo, groupNo, userId }: StoredLocation, keys: ReadonlySet<number>): void {
    for (const key of keys) this.#removePlace.run(groupNo, key, userId, presenceNo);
  }
}

const byteLength = (text: Json) => Buffer.byteLength(text);
