import { canonicalLocation, type Location } from '@rollcall/protocol';
import type {
  HoldCondition,
  PresenceChange,
  PresenceScope,
  PresenceStore,
  PresentUser,
  PresentUsers,
} from '../../../src/presence/presence-store.ts';
import type { Json } from '../../../src/values/json.ts';
import { closing } from '../../support/closing.ts';
import { WatchRecorder } from './watch-recorder.ts';

/** Two handles on one empty engine: the same handle twice where the engine lives in one process. */
export type MakePresenceStores = () => Promise<readonly [PresenceStore, PresenceStore]>;

/** The start of a test, in milliseconds: a whole second, so that tests can choose times within one second. */
export const START = 1_900_000_000_000;
/** The default lifetime of a presence, in milliseconds. */
export const TTL = 30_000;

export const SCOPE: PresenceScope = { project: 'project', groupId: 'group' };

export const at = (location: Location): Json => canonicalLocation(location);
export const PAGE_1 = at({ page: '1' });
export const PAGE_2 = at({ page: '2' });
export const PAGE_3 = at({ page: '3' });
export const SITE = at({ site: 's' });

/** The default membership of every user. */
export const INCARNATION = 7;

interface Setting extends Partial<PresenceScope> {
  readonly incarnation?: number;
  readonly region?: Json;
  readonly now?: number;
  readonly until?: number;
  readonly connection?: string;
  readonly lease?: string;
  readonly data?: Json | null;
  readonly condition?: HoldCondition;
}

interface Reading extends Partial<PresenceScope> {
  readonly location?: Json;
  readonly partial?: boolean;
  readonly after?: string | null;
  readonly limit?: number;
  readonly now?: number;
}

interface Watching extends Partial<PresenceScope> {
  /** The handle of the watch; scenes write with the other one. */
  readonly handle?: PresenceStore;
  readonly now?: number;
  /** Called within the callback, after the event was recorded. */
  readonly onEvent?: (offset: number) => void;
}

type FoundUser = Omit<PresentUser, 'incarnation'>;

export interface FoundUsers {
  readonly users: readonly FoundUser[];
  readonly next: string | null;
}

/** A present user without the incarnation, which has rules of its own. */
export const withoutIncarnation = ({ userId, locations }: PresentUser): FoundUser => ({ userId, locations });

/** Two handles with short methods: one handle writes, the other reads. */
export class PresenceScene {
  readonly store: PresenceStore;
  readonly other: PresenceStore;
  readonly #recorders: WatchRecorder[] = [];

  constructor([store, other]: readonly [PresenceStore, PresenceStore]) {
    this.store = store;
    this.other = other;
  }

  set(userId: string, location: Json, setting: Setting = {}): Promise<PresenceChange> {
    const {
      region = location,
      now = START,
      until = now + TTL,
      incarnation = INCARNATION,
      ...scope
    } = setting;
    const update = { ...SCOPE, ...scope, userId, incarnation, region, location, now, expiresAt: until };
    return this.store.set(update);
  }

  /** @param connection without it, every holder of the location */
  clear(userId: string, location: Json, now = START, scope = SCOPE, connection?: string): Promise<boolean> {
    return this.other.clear({
      ...scope,
      userId,
      location,
      now,
      ...(connection !== undefined && { connection }),
    });
  }

  /** One part of a reading; see {@link PresentUsers}. */
  async part(reading: Reading = {}): Promise<FoundUsers> {
    const { location, partial = false, after = null, limit = 10_000, now = START, ...scope } = reading;
    const filter = location === undefined ? null : { location, partial };
    const { users, next } = await this.other.find({ ...SCOPE, ...scope, filter, after, limit, now });
    return { users: users.map(withoutIncarnation), next };
  }

  /** The first `limit` users, read in as many parts as needed. */
  async find(reading: Reading = {}): Promise<FoundUser[]> {
    const { limit = 10_000 } = reading;
    const found: FoundUser[] = [];
    for (let after = reading.after ?? null; ; ) {
      const { users, next }: FoundUsers = await this.part({
        ...reading,
        after,
        limit: limit - found.length,
      });
      found.push(...users);
      if (next === null || found.length === limit) return found;
      after = next;
    }
  }

  /** The IDs of the found users. */
  async ids(reading: Reading = {}): Promise<string[]> {
    return (await this.find(reading)).map(({ userId }) => userId);
  }

  async locationsOf(userId: string, now = START, scope = SCOPE, incarnation = INCARNATION) {
    return (await this.other.locationsOf({ ...scope, userId, incarnation, now })).locations;
  }

  /** Watches a group from now on; closed with the scene. */
  async watch(watching: Watching = {}): Promise<WatchRecorder> {
    const { handle = this.other, now = START, onEvent, ...scope } = watching;
    const recorder = await WatchRecorder.open(handle, { ...SCOPE, ...scope }, now, onEvent);
    this.#recorders.push(recorder);
    return recorder;
  }

  async close(): Promise<void> {
    for (const recorder of this.#recorders) recorder.watch.close();
    await this.store.close();
    await this.other.close();
  }

  /** The expiries of a sweep, as `user location`. */
  async swept(now: number): Promise<string[]> {
    return (await this.other.sweep(now)).map(({ userId, location }) => `${userId} ${location}`);
  }
}

/** Registers a test of a rule of the port. */
export type Rule = (sentence: string, body: (scene: PresenceScene) => Promise<void>) => void;

/** Gives a test its scene and closes both handles after it. */
export function inScene(makeStores: MakePresenceStores, body: (scene: PresenceScene) => Promise<void>) {
  return async () => {
    await using scene = closing(new PresenceScene(await makeStores()));
    await body(scene);
  };
}
