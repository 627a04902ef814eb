import { compareCodePoints } from '@rollcall/protocol';
import type { Metric } from '../../metrics/metric.ts';
import { openChannels, type RedisChannels } from '../../redis/redis-channels.ts';
import { RedisConnection } from '../../redis/redis-connection.ts';
import { parseRedisUrl } from '../../redis/redis-url.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { ConnectionHold } from '../connection-hold.ts';
import type {
  Expiry,
  GroupEvent,
  LeaseState,
  PresenceChange,
  PresenceCount,
  PresenceScope,
  PresenceStore,
  PresenceUpdate,
  PresenceWatch,
  PresenceWatcher,
  PresentUser,
  PresentUsers,
  UserLocations,
} from '../presence-store.ts';
import { DueGroups, groupOfMember } from './due-groups.ts';
import { GroupWatches } from './group-watches.ts';
import { countPresence } from './presence-count.ts';
import { PresenceEngine } from './presence-engine.ts';
import { holderName, readHolder } from './presence-keys.ts';
import { PresenceSetting } from './presence-setting.ts';

/** How many users one step removes at most, and one event names. */
const REMOVED_PER_STEP = 1_000;
/** A step ends with the user whose presences make it so many: some milliseconds of Redis' time. */
const REMOVED_PRESENCES_PER_STEP = 1_000;
/** How many groups of a project are removed at once. */
const GROUPS_PER_STEP = 100;

/**
 * Opens the PresenceStore (see the port) on Redis: shared by every process that names the same server and prefix.
 * @throws RedisUrlError, StoreUnavailableError
 */
export async function openRedisPresence({ url }: { readonly url: string }): Promise<PresenceStore> {
  const connection = await RedisConnection.open(parseRedisUrl(url), 'presence');
  let channels: RedisChannels | undefined;
  try {
    channels = await openChannels(connection);
    const presence = new RedisPresence(connection, channels);
    await presence.requireRights();
    return presence;
  } catch (error) {
    channels?.close();
    connection.close();
    throw error;
  }
}

/** Every atomic step is a script: see lua/. */
class RedisPresence implements PresenceStore {
  readonly isInProcess = false;
  readonly #connection: RedisConnection;
  readonly #channels: RedisChannels;
  readonly #engine: PresenceEngine;
  readonly #due: DueGroups;
  readonly #setting: PresenceSetting;
  readonly #watches: GroupWatches;

  constructor(connection: RedisConnection, channels: RedisChannels) {
    this.#connection = connection;
    this.#channels = channels;
    this.#engine = new PresenceEngine(connection);
    this.#due = new DueGroups(this.#engine);
    this.#setting = new PresenceSetting(this.#engine, this.#due);
    this.#watches = new GroupWatches(this.#engine, channels, this.#due);
  }

  get metrics(): readonly Metric[] {
    return [...this.#connection.metrics, this.#setting.batchSizes];
  }

  /** @throws StoreUnavailableError, ReplyError where the account may run no scripts, or has no right to the keys */
  async requireRights(): Promise<void> {
    // Nothing is due at the time 0, so nothing is claimed.
    await this.#engine.onIndex('claim', this.#engine.keys.due(0), 0, 0, 1);
  }

  ping(): Promise<void> {
    return this.#connection.ping();
  }

  async close(): Promise<void> {
    this.#channels.close();
    this.#connection.close();
  }

  set(update: PresenceUpdate): Promise<PresenceChange> {
    this.#due.lasts(update.expiresAt - update.now);
    return this.#setting.set(update);
  }

  async clear(presence: Parameters<PresenceStore['clear']>[0]): Promise<boolean> {
    const { userId, location, now, connection = '' } = presence;
    this.#setting.flush();
    return (await this.#engine.onGroup('clear', presence, now, userId, location, connection)) === 1;
  }

  release(release: Parameters<PresenceStore['release']>[0]): Promise<void> {
    return this.#setting.release(release);
  }

  async retain(connection: Parameters<PresenceStore['retain']>[0]): Promise<void> {
    const { userId, now } = connection;
    await this.#engine.onGroup('retain', connection, now, userId, connection.connection);
  }

  async holdsOf(connection: Parameters<PresenceStore['holdsOf']>[0]): Promise<ConnectionHold[]> {
    const { userId, now } = connection;
    const rows = await this.#engine.onGroup('holdsOf', connection, now, userId, connection.connection);
    const found = rowsOf<[region: Json, location: Json, order: number, data: string]>(rows, 4);
    return found
      .sort(([, , one], [, , other]) => one - other)
      .map(([region, location, , data]) => ({ region, location, data: data === '' ? null : (data as Json) }));
  }

  async renewLease(renewal: Parameters<PresenceStore['renewLease']>[0]): Promise<LeaseState | null> {
    const { lease, expiresAt, now } = renewal;
    const reply = await this.#engine.onGroup('renewLease', renewal, now, lease, expiresAt);
    const [updates, holds, isOverdue] = reply as [number, number, number];
    // The index may be on another node, which is away; the next renewal tries again.
    if (isOverdue === 1) await this.#due.registerAgain(renewal, now).catch(() => {});
    return updates < 0 ? null : { updates, holds };
  }

  async find(reading: Parameters<PresenceStore['find']>[0]): Promise<PresentUsers> {
    const { filter, after, limit, now } = reading;
    const kind = filter === null ? 'all' : filter.partial ? 'partial' : 'exact';
    const args = [limit, after ?? '', kind, filter?.location ?? ''];
    const [offset, ...runs] = (await this.#engine.onGroup('find', reading, now, ...args)) as [
      number,
      ...Run[],
    ];
    return { ...usersOf(runs, limit), offset };
  }

  async locationsOf(reading: Parameters<PresenceStore['locationsOf']>[0]): Promise<UserLocations> {
    const holder = holderName(reading.userId, reading.incarnation);
    const rows = await this.#engine.onGroup('locationsOf', reading, reading.now, holder);
    const found = rowsOf<[location: Json, order: number, data: string]>(rows, 3);
    return locationsFrom(found.map(([location, order, data]) => ({ location, order, data })));
  }

  async removeUsers(scope: PresenceScope, userIds: readonly string[], now: number): Promise<void> {
    this.#setting.flush();
    for (let from = 0; from < userIds.length; ) {
      const users = userIds.slice(from, from + REMOVED_PER_STEP);
      const step = [REMOVED_PRESENCES_PER_STEP, ...users];
      from += (await this.#engine.onGroup('removeUsers', scope, now, ...step)) as number;
    }
  }

  async removeGroup(scope: PresenceScope, now: number): Promise<void> {
    this.#setting.flush();
    await this.#engine.onGroup('removeGroup', scope, now);
  }

  async removeProject(project: ProjectKey, now: number): Promise<void> {
    const groups = new Set(await this.#watches.watchedGroups(project, now));
    const key = this.#engine.keys.groups(project);
    for (let after: string | null = null, isMore = true; isMore; ) {
      const page = [after === null ? '-' : `(${after}`, '+', 'LIMIT', 0, GROUPS_PER_STEP];
      const members: string[] = await this.#connection.command('zrangebylex', key, ...page);
      for (const member of members) groups.add(groupOfMember(member));
      await Promise.all([...groups].map((groupId) => this.removeGroup({ project, groupId }, now)));
      groups.clear();
      after = members.at(-1) ?? null;
      isMore = members.length === GROUPS_PER_STEP;
    }
  }

  async sweep(now: number): Promise<Expiry[]> {
    const expired = await this.#due.sweep(now);
    expired.sort((a, b) => Math.floor(a.deadline / 1_000) - Math.floor(b.deadline / 1_000));
    return expired.map(({ expiry }) => expiry);
  }

  count(): Promise<PresenceCount> {
    return countPresence(this.#engine);
  }

  watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch> {
    return this.#watches.watch(scope, now, watcher);
  }

  watchedGroups(project: ProjectKey, now: number): Promise<string[]> {
    return this.#watches.watchedGroups(project, now);
  }

  async publish(scope: PresenceScope, event: GroupEvent, now: number, upTo?: number): Promise<void> {
    await this.#engine.onGroup('publish', scope, now, JSON.stringify({ ...event, now }), upTo ?? '');
  }
}

/** The rows of a reply, which has so many values of each. */
function rowsOf<Row extends readonly unknown[]>(reply: unknown, length: number): Row[] {
  const values = reply as unknown[];
  return Array.from({ length: values.length / length }, (_, row) =>
    values.slice(row * length, (row + 1) * length),
  ) as unknown as Row[];
}

/** The reply of lua/find.lua for one range of its index. */
type Run = readonly [next: string, location: Json | null, ...rows: string[]];

interface Shown {
  readonly location: Json;
  readonly order: number;
  /** An empty text for none. */
  readonly data: string;
}

interface Found {
  readonly incarnation: Incarnation;
  readonly shown: Shown[];
}

const presentUser = (userId: string, { incarnation, shown }: Found): PresentUser => ({
  userId,
  incarnation,
  ...locationsFrom(shown),
});

/** The users whose presences all runs have read completely, `limit` of them at most. */
function usersOf(runs: readonly Run[], limit: number): Omit<PresentUsers, 'offset'> {
  const found = new Map<string, Found>();
  /** The least user at which a run ended early; later users may be incomplete. */
  let next: string | null = null;
  for (const [last, sharedLocation, ...rows] of runs) {
    if (last !== '' && (next === null || compareCodePoints(last, next) < 0)) next = last;
    const step = sharedLocation === null ? 2 : 1;
    for (let at = 0; at < rows.length; at += step) {
      const { userId, incarnation, order, data } = readHolder(rows[at] as string);
      const one = { location: sharedLocation ?? (rows[at + 1] as Json), order, data };
      const user = found.get(userId);
      if (user === undefined) found.set(userId, { incarnation, shown: [one] });
      else user.shown.push(one);
    }
  }
  let ids = [...found.keys()];
  if (!isAscending(ids)) ids.sort(compareCodePoints);
  const end = next;
  if (end !== null) ids = ids.filter((id) => compareCodePoints(id, end) <= 0);
  if (ids.length > limit) {
    ids = ids.slice(0, limit);
    next = ids.at(-1) as string;
  }
  return {
    users: ids.map((userId) => presentUser(userId, found.get(userId) as Found)),
    next,
  };
}

function isAscending(ids: readonly string[]): boolean {
  return ids.every((id, index) => index === 0 || compareCodePoints(ids[index - 1] as string, id) < 0);
}

/** Each location once, in ascending order, with the data of the greatest order. */
function locationsFrom(shown: Shown[]): UserLocations {
  if (shown.length > 1) shown.sort((a, b) => compareCodePoints(a.location, b.location) || b.order - a.order);
  const newest = shown.filter(({ location }, index) => location !== shown[index - 1]?.location);
  const locations = newest.map(({ location }) => location);
  if (newest.every(({ data }) => data === '')) return { locations };
  return { locations, data: newest.map(({ data }) => (data === '' ? null : data)) };
}
