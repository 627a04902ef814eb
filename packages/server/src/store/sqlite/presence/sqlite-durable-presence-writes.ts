import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { durablePresenceChanges } from '../../changes/changes.ts';
import type { DurableBounds } from '../../durable-bounds.ts';
import type {
  DurablePresenceOutcome,
  DurablePresenceStore,
  DurablePresenceUpdate,
} from '../../ports/durable-presence.ts';
import { isEligible } from '../../ports/eligibility.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Write } from '../sqlite-methods.ts';
import { ELIGIBILITY, type EligibilityRow, toEligibility } from './sqlite-eligibility.ts';
import { locationKey, locationKeys } from './sqlite-location-keys.ts';

type SetPresence = Omit<Extract<DurablePresenceOutcome, { kind: 'set' }>, 'kind' | 'changes'>;

type UsageRow = [locations: number, bytes: number, latestAt: number | null];
type LocationRow = [presenceNo: number, location: Json];

/** The counts of a user's durable presence in a group. */
interface Usage {
  locations: number;
  bytes: number;
}

/** The key columns of a location's row. */
interface StoredLocation {
  readonly presenceNo: number;
  readonly groupNo: number;
  readonly userId: string;
}

/**
 * Writes of durable presence, on the writer's thread. Its tables change here and nowhere else, but for deleted groups and projects. The
 * cost of a write is a few searches by an index, and the removal of what it ends.
 */
export class DurablePresenceWrites {
  readonly #bounds: DurableBounds;
  readonly #statements;

  constructor({ prepare }: SqliteConnection, bounds: DurableBounds) {
    this.#bounds = bounds;
    this.#statements = {
      eligibility: prepare<EligibilityRow>(ELIGIBILITY),
      usage: prepare<UsageRow>(
        'SELECT locations, bytes, latest_at FROM durable_usage WHERE group_no = ? AND user_id = ?',
      ),
      setUsage: prepare(`
        INSERT INTO durable_usage (group_no, user_id, locations, bytes, latest_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET locations = excluded.locations, bytes = excluded.bytes,
          latest_at = excluded.latest_at`),
      find: prepare<LocationRow>(`
        SELECT presence_no, location FROM durable_presence INDEXED BY durable_presence_by_region
        WHERE group_no = ? AND user_id = ? AND region_key = ? AND region = ?`),
      oldest: prepare<[...LocationRow, updatedAt: number]>(`
        SELECT presence_no, location, updated_at FROM durable_presence INDEXED BY durable_presence_by_time
        WHERE group_no = ? AND user_id = ? ORDER BY updated_at LIMIT 1`),
      insert: prepare(`
        INSERT INTO durable_presence (group_no, user_id, region_key, user_no, updated_at, location, region)
        VALUES (?, ?, ?, ?, ?, ?, ?)`),
      renew: prepare('UPDATE durable_presence SET updated_at = ? WHERE presence_no = ?'),
      move: prepare('UPDATE durable_presence SET updated_at = ?, location = ? WHERE presence_no = ?'),
      remove: prepare('DELETE FROM durable_presence WHERE presence_no = ?'),
      addKey: prepare(
        'INSERT INTO durable_places (group_no, place_key, user_id, presence_no) VALUES (?, ?, ?, ?)',
      ),
      removeKey: prepare(
        'DELETE FROM durable_places WHERE group_no = ? AND place_key = ? AND user_id = ? AND presence_no = ?',
      ),
      ofUser: prepare<LocationRow>(
        'SELECT presence_no, location FROM durable_presence WHERE group_no = ? AND user_id = ?',
      ),
      removeOfUser: prepare('DELETE FROM durable_presence WHERE group_no = ? AND user_id = ?'),
      removeUsage: prepare('DELETE FROM durable_usage WHERE group_no = ? AND user_id = ?'),
    };
  }

  readonly put: Write<DurablePresenceStore['put']> = (project, update, { now }) => {
    const row = this.#findEligibility(project, update);
    const eligibility = toEligibility(row);
    if (!isEligible(eligibility)) return { kind: 'rejected', eligibility };
    const set = this.#set(row, update, (latest) => (latest === null ? now : Math.max(now, latest + 1)));
    return { kind: 'set', ...set, changes: durablePresenceChanges(update, set) };
  };

  readonly putMany: Write<DurablePresenceStore['putMany']> = (project, updates, context) => {
    const outcomes = updates.map((update) => this.put(project, update, context));
    return {
      outcomes,
      changes: outcomes.flatMap((outcome) => (outcome.kind === 'set' ? outcome.changes : [])),
    };
  };

  /** Sets a location of another store at its time, whatever the statuses are; not where the region has one already. */
  import(
    project: ProjectKey,
    presence: DurablePresenceUpdate & { readonly at: number },
  ): 'imported' | 'exists' | 'noMember' {
    const row = this.#findEligibility(project, presence);
    if (toEligibility(row).incarnation === null) return 'noMember';
    return this.#set(row, presence, () => presence.at).previous === null ? 'imported' : 'exists';
  }

  removeUser(groupNo: number, userId: string): void {
    const { ofUser, removeOfUser, removeUsage } = this.#statements;
    const found = ofUser.all(groupNo, userId);
    if (found.length === 0) return;
    for (const [presenceNo, location] of found)
      this.#removeKeys({ presenceNo, groupNo, userId }, locationKeys(location));
    removeOfUser.run(groupNo, userId);
    removeUsage.run(groupNo, userId);
  }

  /** The statement always returns a row; its columns are null where nothing is found. */
  #findEligibility(project: ProjectKey, { groupId, userId }: DurablePresenceUpdate): EligibilityRow {
    return this.#statements.eligibility.get(project, groupId, userId) as EligibilityRow;
  }

  /** Sets a region's location at the time that `timeOf` makes of the latest one, and ends what exceeds the bounds. */
  #set(
    [, , userNo, groupNo]: EligibilityRow,
    { userId, region, location }: DurablePresenceUpdate,
    timeOf: (latest: number | null) => number,
  ): SetPresence {
    if (userNo === null || groupNo === null)
      throw new Error('a user who is no member has no durable presence');
    const { usage: usageOf, find, insert, setUsage } = this.#statements;
    const [locations, bytes, latest] = usageOf.get(groupNo, userId) ?? [0, 0, null];
    const at = timeOf(latest);
    const usage: Usage = { locations, bytes: bytes + Buffer.byteLength(location) };
    const regionKey = locationKey(region);
    const before = find.get(groupNo, userId, regionKey, region);
    if (before === undefined) {
      const presenceNo = insert.insert(groupNo, userId, regionKey, userNo, at, location, region);
      this.#addKeys({ presenceNo, groupNo, userId }, locationKeys(location));
      usage.locations += 1;
    } else {
      const [presenceNo, previous] = before;
      this.#replace({ presenceNo, groupNo, userId }, previous, location, at);
      usage.bytes -= Buffer.byteLength(previous);
    }
    const endedTo = this.#endOldest(groupNo, userId, usage);
    setUsage.run(groupNo, userId, usage.locations, usage.bytes, Math.max(latest ?? at, at));
    return { previous: before?.[1] ?? null, at, latestBefore: latest, endedTo };
  }

  /** A location that is only renewed has the same keys. */
  #replace(stored: StoredLocation, before: Json, after: Json, at: number): void {
    if (before === after) {
      this.#statements.renew.run(at, stored.presenceNo);
      return;
    }
    const [left, entered] = [locationKeys(before), locationKeys(after)];
    this.#removeKeys(stored, left.difference(entered));
    this.#addKeys(stored, entered.difference(left));
    this.#statements.move.run(at, after, stored.presenceNo);
  }

  /** Ends the oldest locations until the bounds hold, and subtracts them; the time of the latest that ended, or null. */
  #endOldest(groupNo: number, userId: string, usage: Usage): number | null {
    const { oldest, remove } = this.#statements;
    let endedTo: number | null = null;
    while (usage.locations > 1 && this.#exceeds(usage)) {
      const row = oldest.get(groupNo, userId);
      if (row === undefined) throw new Error('a user has fewer durable locations than are counted');
      const [presenceNo, location, at] = row;
      this.#removeKeys({ presenceNo, groupNo, userId }, locationKeys(location));
      remove.run(presenceNo);
      usage.locations -= 1;
      usage.bytes -= Buffer.byteLength(location);
      endedTo = at;
    }
    return endedTo;
  }

  #exceeds({ locations, bytes }: Usage): boolean {
    return locations > this.#bounds.locations || bytes > this.#bounds.bytes;
  }

  #addKeys({ presenceNo, groupNo, userId }: StoredLocation, keys: ReadonlySet<number>): void {
    for (const key of keys) this.#statements.addKey.run(groupNo, key, userId, presenceNo);
  }

  #removeKeys({ presenceNo, groupNo, userId }: StoredLocation, keys: ReadonlySet<number>): void {
    for (const key of keys) this.#statements.removeKey.run(groupNo, key, userId, presenceNo);
  }
}
