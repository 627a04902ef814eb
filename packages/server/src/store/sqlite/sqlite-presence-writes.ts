import type {
  CarriedRecord,
  DurablePresenceOutcome,
  DurablePresenceUpdate,
  Json,
  ProjectKey,
  WriteStamp,
} from '../store.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import { placeKeys } from './sqlite-place-keys.ts';
import { mayBePresent, STANDING, toStanding } from './sqlite-standings.ts';

type CarriedPresence = Extract<CarriedRecord, { type: 'durablePresence' }>;

/** Writes of durable presence, on the writer's thread. Both tables of it change here and nowhere else. */
export class PresenceWrites {
  readonly #standing;
  readonly #find;
  readonly #insert;
  readonly #renew;
  readonly #move;
  readonly #addPlace;
  readonly #removePlace;
  readonly #ofUser;
  readonly #removeOfUser;
  readonly #removeOfGroup;
  readonly #removePlacesOfGroup;

  constructor(connection: SqliteConnection) {
    const prepare = (sql: string) => connection.prepare(sql);
    this.#standing = prepare(STANDING);
    this.#find = prepare(
      'SELECT presence_no, location FROM durable_presence WHERE group_no = ? AND user_id = ? AND region = ?',
    );
    this.#insert = prepare(`
      INSERT INTO durable_presence (group_no, user_id, region, user_no, location, updated_at)
      VALUES (?, ?, ?, ?, ?, ?)`);
    this.#renew = prepare('UPDATE durable_presence SET updated_at = ? WHERE presence_no = ?');
    this.#move = prepare('UPDATE durable_presence SET updated_at = ?, location = ? WHERE presence_no = ?');
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
    this.#removePlacesOfGroup = prepare('DELETE FROM durable_places WHERE group_no = ?');
  }

  put(project: ProjectKey, update: DurablePresenceUpdate, { now }: WriteStamp): DurablePresenceOutcome {
    const row = this.#standing.get(project, update.groupId, update.userId) as Row;
    const standing = toStanding(row);
    if (!mayBePresent(standing)) return { kind: 'refused', standing };
    return { kind: 'set', previous: this.#set(row, update, now) };
  }

  /** Takes over what another store kept, whatever the statuses are. False where there is no such member. */
  carryIn(project: ProjectKey, presence: CarriedPresence): boolean {
    const row = this.#standing.get(project, presence.groupId, presence.userId) as Row;
    if (toStanding(row).incarnation === null) return false;
    this.#set(row, presence, presence.at);
    return true;
  }

  /** Removes all places of a user in a group. */
  removeUser(groupNo: number, userId: string): void {
    const places = this.#ofUser.all(groupNo, userId) as [number, Json][];
    if (places.length === 0) return;
    for (const [presenceNo, location] of places) {
      for (const key of placeKeys(location)) this.#removePlace.run(groupNo, key, userId, presenceNo);
    }
    this.#removeOfUser.run(groupNo, userId);
  }

  /** Removes all places in a group. */
  removeGroup(groupNo: number): void {
    this.#removePlacesOfGroup.run(groupNo);
    this.#removeOfGroup.run(groupNo);
  }

  /** What the region held before; a place that is only renewed keeps its keys. */
  #set([, , userNo = 0, groupNo = 0]: Row, update: DurablePresenceUpdate, at: number): Json | null {
    const { userId, region, location } = update;
    const before = this.#find.get(groupNo, userId, region) as [number, Json] | undefined;
    if (before === undefined) {
      const presenceNo = this.#insert.insert(groupNo, userId, region, userNo, location, at);
      for (const key of placeKeys(location)) this.#addPlace.run(groupNo, key, userId, presenceNo);
      return null;
    }
    const [presenceNo, previous] = before;
    if (previous === location) {
      this.#renew.run(at, presenceNo);
      return previous;
    }
    const [left, entered] = [placeKeys(previous), placeKeys(location)];
    for (const key of left.difference(entered)) this.#removePlace.run(groupNo, key, userId, presenceNo);
    for (const key of entered.difference(left)) this.#addPlace.run(groupNo, key, userId, presenceNo);
    this.#move.run(at, location, presenceNo);
    return previous;
  }
}
