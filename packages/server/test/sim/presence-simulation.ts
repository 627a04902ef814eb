import assert from 'node:assert/strict';
import { canonicalLocation, type Location } from '@rollcall/protocol';
import type { Expiry, PresenceScope, PresenceStore } from '../../src/presence/presence-store.ts';
import type { Json } from '../../src/values/json.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import { WatchRecorder } from '../contract/presence/watch-recorder.ts';
import { PresenceFollower } from './presence-follower.ts';
import { PresenceModel } from './presence-model.ts';
import type { Random } from './random.ts';

const CROWD: PresenceScope = { project: 1, groupId: 'crowd' };
/** One group of many, one of a few, and the same names in another project. */
const SCOPES: readonly PresenceScope[] = [
  CROWD,
  { project: 1, groupId: 'team' },
  { project: 2, groupId: 'crowd' },
];
/** Initials on both sides of the surrogates, so that code points and UTF-16 units order them differently. */
const INITIALS = [
  'a',
  'Z',
  '\u{e9}',
  '\u{d7ff}',
  '\u{e000}',
  '\u{f900}',
  '\u{fffd}',
  '\u{10000}',
  '\u{1f600}',
  '\u{10fffd}',
];
const USERS = INITIALS.flatMap((initial) => Array.from({ length: 35 }, (_, index) => `${initial}${index}`));
const TEAM = USERS.filter((_, index) => index % 40 === 0);
const POPULAR: readonly Location[] = [
  { page: '1' },
  { page: '1', role: 'editor' },
  { page: '2', role: 'editor' },
];
/** Users who are at more locations than they may be, of small ones and of large ones. */
const HOARDERS = ['hoarder', TEAM[0] as string];
/** How many locations a hoarder is set to in one step. */
const HOARDED = 40;
/** How many steps a phase has: presence grows in one and shrinks in the next, so that every structure does both. */
const PHASE = 1_500;

interface Followed {
  readonly recorder: WatchRecorder;
  readonly follower: PresenceFollower;
  /** The number of recorded events that the follower has applied. */
  known: number;
}

/**
 * Random operations on a PresenceStore and on the naive model. Both must agree at every step, and after every sweep
 * with a follower of all events.
 */
export class PresenceSimulation {
  readonly #store: PresenceStore;
  readonly #random: Random;
  readonly #model = new PresenceModel();
  readonly #followed = new Map<PresenceScope, Followed>();
  readonly #incarnations = new Map<string, number>();
  #now = 1_900_000_000_000;
  #isGrowing = true;
  #peak = 0;

  constructor(store: PresenceStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /** @throws Error that names the step at which the two disagreed */
  async run(steps: number): Promise<void> {
    for (const scope of SCOPES) {
      const recorder = await WatchRecorder.open(this.#store, scope, this.#now);
      this.#followed.set(scope, { recorder, follower: new PresenceFollower(), known: 0 });
    }
    for (let step = 0; step < steps; step += 1) {
      this.#isGrowing = Math.floor(step / PHASE) % 2 === 0;
      try {
        await this.#step();
        this.#peak = Math.max(this.#peak, this.#model.stored.length);
        if (step % 100 === 0) await this.#compareWhole();
      } catch (cause) {
        throw new Error(`step ${step}: ${cause instanceof Error ? cause.message : cause}`, { cause });
      }
    }
    for (const { recorder } of this.#followed.values()) recorder.watch.close();
  }

  /** The most presences that there were at the end of a step. */
  get peak(): number {
    return this.#peak;
  }

  /** How many presences the bounds have ended. */
  get ended(): number {
    return this.#model.ended;
  }

  async #step(): Promise<void> {
    const kind = this.#random.below(1_000);
    if (kind < 15) return this.#hoard();
    if (kind < (this.#isGrowing ? 650 : 250)) return this.#set();
    if (kind < 650) return this.#random.chance(0.2) ? this.#removeUsers() : this.#clear();
    if (kind < 800) return this.#find(this.#random.pick(SCOPES));
    if (kind < 850) return this.#locationsOf();
    if (kind < 900) return this.#sweep();
    if (kind < 998) return this.#pass();
    return kind === 998 ? this.#removeGroup() : this.#removeProject();
  }

  async #pass(): Promise<void> {
    this.#now += this.#random.below(this.#isGrowing ? 200 : 2_000);
    for (const { recorder } of this.#followed.values()) await recorder.watch.renew(this.#now);
  }

  async #set(): Promise<void> {
    const { region, location, ...who } = this.#random.chance(0.4)
      ? this.#storedPresence()
      : this.#randomPresence();
    const moves = this.#random.chance(0.3);
    await this.#setTo(who, region, moves ? this.#location() : location);
  }

  async #setTo(who: PresenceScope & { userId: string }, region: Json, location: Json): Promise<void> {
    const expiresAt = this.#model.freeDeadline(who, this.#now + this.#random.below(60_000));
    const { project, groupId, userId } = who;
    const incarnation = this.#incarnationOf(who);
    const update = { project, groupId, userId, incarnation, region, location, now: this.#now, expiresAt };
    assert.deepEqual(await this.#store.set(update), this.#model.set(update));
  }

  /** The incarnation of the user's membership, which ends now and then without a removal in the engine. */
  #incarnationOf(who: PresenceScope & { userId: string }): number {
    const key = JSON.stringify([who.project, who.groupId, who.userId]);
    const known = this.#incarnations.get(key) ?? 0;
    const incarnation = this.#random.chance(0.002) ? known + 1 : known;
    this.#incarnations.set(key, incarnation);
    return incarnation;
  }

  /** Sets one user to many locations: of a few bytes, so that their number is bounded, or of a kilobyte or two. */
  async #hoard(): Promise<void> {
    const who = { ...this.#random.pick(SCOPES), userId: this.#random.pick(HOARDERS) };
    const isLarge = this.#random.chance(0.5);
    for (let count = 0; count < HOARDED; count += 1) {
      const text = isLarge ? '\u{20ac}'.repeat(300 + this.#random.below(300)) : '';
      const location = canonicalLocation({ page: '1', paragraph: `${this.#random.below(500)}`, text });
      const isInRegion = this.#random.chance(0.2);
      const region = isInRegion ? canonicalLocation({ paragraph: `${this.#random.below(9)}` }) : location;
      await this.#setTo(who, region, location);
    }
  }

  async #clear(): Promise<void> {
    const { project, groupId, userId, location } = this.#storedPresence();
    const absence = { project, groupId, userId, location, now: this.#now };
    assert.equal(await this.#store.clear(absence), this.#model.clear(absence));
  }

  async #removeUsers(): Promise<void> {
    const scope = this.#random.pick(SCOPES);
    const ids = this.#random.some(USERS, 12);
    await this.#store.removeUsers(scope, ids, this.#now);
    this.#model.removeUsers(scope, ids);
  }

  async #removeGroup(): Promise<void> {
    const scope = this.#random.pick(SCOPES);
    await this.#store.removeGroup(scope, this.#now);
    this.#model.removeGroup(scope);
  }

  async #removeProject(): Promise<void> {
    await this.#store.removeProject(2, this.#now);
    this.#model.removeProject(2);
  }

  async #find(scope: PresenceScope): Promise<void> {
    const reading = {
      ...scope,
      filter: this.#filter(),
      after: this.#random.chance(0.5) ? null : this.#random.pick(USERS),
      limit: this.#random.pick([1, 10, 1_000]),
      now: this.#now,
    };
    const { users } = await this.#store.find(reading);
    assert.deepEqual(users, this.#model.find(reading));
  }

  async #locationsOf(): Promise<void> {
    const { project, groupId, userId } = this.#storedPresence();
    const incarnation = this.#incarnationOf({ project, groupId, userId });
    const reading = { project, groupId, userId, incarnation, now: this.#now };
    assert.deepEqual((await this.#store.locationsOf(reading)).locations, this.#model.locationsOf(reading));
  }

  async #sweep(): Promise<void> {
    const expired = await this.#store.sweep(this.#now);
    const expected = this.#model.sweep(this.#now);
    assert.deepEqual(expired.map(textOf).sort(), expected.map(({ expiry }) => textOf(expiry)).sort());
    const seconds = new Map(expected.map(({ expiry, second }) => [textOf(expiry), second]));
    const order = expired.map((expiry) => seconds.get(textOf(expiry)) as number);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      'in order of deadline second',
    );
    for (const scope of SCOPES) await this.#compareFollowed(scope);
  }

  /** Right after a sweep, all departures are events. */
  async #compareFollowed(scope: PresenceScope): Promise<void> {
    const followed = this.#followed.get(scope) as Followed;
    const { users, offset } = await this.#store.find({
      ...scope,
      filter: null,
      after: null,
      limit: 10_000,
      now: this.#now,
    });
    const events = await followed.recorder.upTo(offset);
    for (const event of events.slice(followed.known)) followed.follower.follow(event);
    followed.known = events.length;
    followed.recorder.assertOrder();
    assert.deepEqual(followed.follower.users(), users);
    const reading = { ...scope, filter: null, after: null, limit: 10_000, now: this.#now };
    assert.deepEqual(users, this.#model.find(reading));
  }

  async #compareWhole(): Promise<void> {
    for (const scope of SCOPES) {
      for (const filter of [null, { location: canonicalLocation({ page: '1' }), partial: true }]) {
        const reading = { ...scope, filter, after: null, limit: 10_000, now: this.#now };
        const { users } = await this.#store.find(reading);
        assert.deepEqual(users, this.#model.find(reading));
      }
    }
  }

  /** A user of the model, or a new user where there is none. */
  #storedPresence() {
    return this.#model.stored.length === 0 ? this.#randomPresence() : this.#random.pick(this.#model.stored);
  }

  #randomPresence(): PresenceScope & { userId: string; region: Json; location: Json } {
    const scope = this.#random.chance(0.6) ? CROWD : this.#random.pick(SCOPES);
    const userId = this.#random.pick(scope.groupId === 'team' ? TEAM : USERS);
    const location = this.#location();
    const region = this.#random.pick([
      location,
      location,
      canonicalLocation({ page: '1' }),
      canonicalLocation({ app: 'a' }),
    ]);
    return { ...scope, userId, region, location };
  }

  #location(): Json {
    if (this.#random.chance(0.5)) return canonicalLocation(this.#random.pick(POPULAR));
    const pairs = {
      page: `${this.#random.below(4)}`,
      paragraph: `${this.#random.below(60)}`,
      role: this.#random.pick(['editor', 'reader']),
    };
    return canonicalLocation({ page: pairs.page, ...this.#random.sparse(pairs, 0.4) } as Location);
  }

  #filter(): LocationFilter {
    if (this.#random.chance(0.2)) return null;
    const location = this.#random.chance(0.5)
      ? this.#storedPresence().location
      : this.#part(this.#location());
    return { location, partial: this.#random.chance(0.7) };
  }

  #part(location: Json): Json {
    const pairs = Object.entries(JSON.parse(location) as Location);
    return canonicalLocation(Object.fromEntries([this.#random.pick(pairs), this.#random.pick(pairs)]));
  }
}

const textOf = ({ project, groupId, userId, location }: Expiry) =>
  JSON.stringify([project, groupId, userId, location]);
