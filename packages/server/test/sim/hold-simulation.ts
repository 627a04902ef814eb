import assert from 'node:assert/strict';
import type {
  PresenceScope,
  PresenceStore,
  PresenceUpdate,
  PresentUser,
} from '../../src/presence/presence-store.ts';
import type { Json } from '../../src/values/json.ts';
import { WatchRecorder } from '../contract/presence/watch-recorder.ts';
import { HoldModel } from './hold-model.ts';
import { PresenceFollower } from './presence-follower.ts';
import type { Random } from './random.ts';

const SCOPE: PresenceScope = { project: 1, groupId: 'group' };
const USERS = ['ann', 'bob', 'cat'];
const CONNECTIONS = ['a', 'b', 'c'];
const LOCATIONS = ['1', '2', '3'].map((page) => JSON.stringify({ page }));
const REGIONS = ['x', 'y'].map((site) => JSON.stringify({ site }));
const DATA = ['{"x":1}', '{"x":2}', null];
const CONDITIONS = [undefined, undefined, undefined, 'refresh', 'takeOver', 'unleased'] as const;

/**
 * Random updates with connections, leases, releases and data, on a PresenceStore and on the naive model. Readings agree at
 * every step, and after every sweep with a follower of all events.
 */
export class HoldSimulation {
  readonly #store: PresenceStore;
  readonly #random: Random;
  readonly #model = new HoldModel();
  readonly #follower = new PresenceFollower();
  #followed = 0;
  #now = 1_900_000_000_000;
  /** A lease that has ended gets another name. */
  #lease = 0;

  constructor(store: PresenceStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /** @throws Error that names the step at which the two disagreed */
  async run(steps: number): Promise<void> {
    const recorder = await WatchRecorder.open(this.#store, SCOPE, this.#now);
    for (let step = 0; step < steps; step += 1) {
      try {
        await this.#step();
        await this.#compare();
        await recorder.watch.renew(this.#now);
        if (step % 20 === 0) await this.#sweep(recorder);
      } catch (cause) {
        throw new Error(`step ${step}: ${cause instanceof Error ? cause.message : cause}`, { cause });
      }
    }
    recorder.watch.close();
  }

  async #step(): Promise<void> {
    const kind = this.#random.below(100);
    if (kind < 55) return this.#set();
    if (kind < 70) return this.#clear();
    if (kind < 78) return this.#release();
    if (kind < 84) return this.#retain();
    if (kind < 90) return this.#renewLease();
    this.#now += this.#random.below(kind < 98 ? 500 : 4_000);
  }

  async #set(): Promise<void> {
    const location = this.#random.pick(LOCATIONS);
    const connection = this.#random.chance(0.7) ? this.#random.pick(CONNECTIONS) : undefined;
    const lease = connection !== undefined && this.#random.chance(0.4) ? `l${this.#lease}` : undefined;
    const condition = connection !== undefined ? this.#random.pick(CONDITIONS) : undefined;
    const update: PresenceUpdate = {
      ...SCOPE,
      userId: this.#random.pick(USERS),
      incarnation: 1,
      region: this.#random.chance(0.6) ? this.#random.pick(REGIONS) : location,
      location,
      now: this.#now,
      expiresAt: this.#now + 1 + this.#random.below(3_000),
      ...(connection !== undefined && { connection }),
      ...(lease !== undefined && { lease }),
      ...(this.#random.chance(0.4) && { data: this.#random.pick(DATA) as Json | null }),
      ...(condition !== undefined && { condition }),
    };
    const { leaseEnded = false, holdEnded = false } = await this.#store.set(update);
    const hasEnded = lease !== undefined && this.#model.hasEnded(lease, this.#now);
    assert.ok(hasEnded || !leaseEnded, 'a lease that has not ended takes holds');
    if (leaseEnded) {
      this.#lease += 1;
      return;
    }
    assert.equal(holdEnded, !this.#model.isMet(update), 'condition');
    if (holdEnded) return;
    // Another change may have removed the last of its ended holds, as a sweep does.
    if (hasEnded) this.#model.dropLease(lease);
    this.#model.set(update);
  }

  async #clear(): Promise<void> {
    const userId = this.#random.pick(USERS);
    const location = this.#random.pick(LOCATIONS);
    const connection = this.#random.chance(0.6) ? this.#random.pick(CONNECTIONS) : undefined;
    const absence = {
      ...SCOPE,
      userId,
      location,
      now: this.#now,
      ...(connection !== undefined && { connection }),
    };
    const expected = this.#model.clear(userId, location, connection, this.#now);
    assert.equal(await this.#store.clear(absence), expected, 'clear');
  }

  async #release(): Promise<void> {
    const userId = this.#random.pick(USERS);
    const connection = this.#random.pick(CONNECTIONS);
    const lease = this.#random.chance(0.3) ? `l${this.#lease}` : undefined;
    const at = this.#now + (this.#random.chance(0.3) ? 0 : this.#random.below(1_000));
    const release = {
      ...SCOPE,
      userId,
      connection,
      now: this.#now,
      at,
      ...(lease !== undefined && { lease }),
    };
    await this.#store.release(release);
    this.#model.release(userId, connection, lease, at, this.#now);
  }

  async #retain(): Promise<void> {
    const userId = this.#random.pick(USERS);
    const connection = this.#random.pick(CONNECTIONS);
    await this.#store.retain({ ...SCOPE, userId, connection, now: this.#now });
    this.#model.retain(userId, connection, this.#now);
  }

  async #renewLease(): Promise<void> {
    const lease = `l${this.#lease}`;
    const expiresAt = this.#now + this.#random.below(3_000);
    const renewal = { ...SCOPE, lease, expiresAt, now: this.#now };
    const state = this.#model.renewLease(lease, expiresAt, this.#now);
    assert.deepEqual(await this.#store.renewLease(renewal), state, 'renewLease');
    // A sweep may or may not have dropped an ended one.
    if (state === null) this.#lease += 1;
  }

  #present(passes: (location: Json) => boolean): PresentUser[] {
    return USERS.flatMap((userId) => {
      const { locations, data } = this.#model.locationsOf(userId, this.#now);
      const at = [...locations.keys()].filter((index) => passes(locations[index] as Json));
      if (at.length === 0) return [];
      const own = at.map((index) => data?.[index] ?? null);
      const shown = { userId, incarnation: 1, locations: at.map((index) => locations[index] as Json) };
      return own.some((one) => one !== null) ? [{ ...shown, data: own }] : [shown];
    });
  }

  async #compare(): Promise<void> {
    const page = { ...SCOPE, after: null, limit: 10, now: this.#now };
    const [wanted] = LOCATIONS as [Json];
    const [all, exact, own] = await Promise.all([
      this.#store.find({ ...page, filter: null }),
      this.#store.find({ ...page, filter: { location: wanted, partial: false } }),
      this.#store.locationsOf({ ...SCOPE, userId: 'ann', incarnation: 1, now: this.#now }),
    ]);
    assert.deepEqual(
      all.users,
      this.#present(() => true),
    );
    assert.deepEqual(
      exact.users,
      this.#present((location) => location === wanted),
    );
    assert.deepEqual(own, this.#model.locationsOf('ann', this.#now));
    for (const connection of CONNECTIONS) {
      const scope = { ...SCOPE, userId: 'ann', connection, now: this.#now };
      assert.deepEqual(await this.#store.holdsOf(scope), this.#model.holdsOf('ann', connection, this.#now));
    }
  }

  async #sweep(recorder: WatchRecorder): Promise<void> {
    const expired = await this.#store.sweep(this.#now);
    this.#model.sweep(this.#now);
    const { users, offset } = await this.#store.find({
      ...SCOPE,
      filter: null,
      after: null,
      limit: 10,
      now: this.#now,
    });
    const events = await recorder.upTo(offset);
    for (const event of events.slice(this.#followed)) this.#follower.follow(event);
    this.#followed = events.length;
    recorder.assertOrder();
    assert.deepEqual(
      users,
      this.#present(() => true),
    );
    assert.deepEqual(this.#follower.users(), users);
    const left = expired.map(({ userId, location }) => JSON.stringify([userId, location]));
    assert.equal(new Set(left).size, left.length, 'each departure is reported once');
  }
}
