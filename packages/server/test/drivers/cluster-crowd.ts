import assert from 'node:assert/strict';
import { PresenceKeys } from '../../src/presence/redis/presence-keys.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { slotOf } from '../../src/redis/slot.ts';
import { PAGE_1, PresenceScene, SCOPE, START } from '../contract/presence/presence-scene.ts';
import { openTwo } from '../support/closing.ts';
import { PATIENTLY } from '../support/redis.ts';
import { until } from '../support/waiting.ts';
import { assertUnavailable, PresenceFollower } from './presence-follower.ts';

/** More than land on one node by chance. */
const GROUPS = Array.from({ length: 10 }, (_, index) => `g${index}`);
/** The time between two rounds: a presence of one round has expired in the next. */
const ROUND_MS = 2_000;

/**
 * Load on presence in a cluster. In each round a new user is set present in every group, and its presence expires in the
 * next round. Two processes sweep, and a follower for each group receives its events. Rejected calls are repeated.
 */
export class Crowd {
  readonly #scene: PresenceScene;
  readonly #keys: PresenceKeys;
  readonly #followers: PresenceFollower[] = [];
  readonly #swept: string[] = [];
  #now = START;
  #rounds = 0;
  #isOver = false;

  private constructor(scene: PresenceScene, prefix: string) {
    this.#scene = scene;
    this.#keys = new PresenceKeys({ prefix, db: 0 });
  }

  /** Runs `use` with a crowd in a cluster, under an unused key prefix. */
  static async with(url: string, prefix: string, use: (crowd: Crowd) => Promise<void>): Promise<void> {
    const options = { url: `${url}?prefix=${prefix}&${PATIENTLY}` };
    const scene = new PresenceScene(await openTwo(() => openRedisPresence(options)));
    const crowd = new Crowd(scene, prefix);
    try {
      for (const groupId of GROUPS) {
        crowd.#followers.push(await PresenceFollower.open(scene.other, { ...SCOPE, groupId }, START));
      }
      await use(crowd);
    } finally {
      crowd.#isOver = true;
      for (const follower of crowd.#followers) follower.close();
      await scene.close();
    }
  }

  /** The slots of the groups, and of the indexes by which they are found. */
  get slots(): number[] {
    const groups = GROUPS.flatMap((groupId) => this.#keys.ofGroup({ ...SCOPE, groupId }));
    const indexes = Array.from({ length: 16 }, (_, bucket) => this.#keys.due(bucket));
    return [...new Set([...groups, ...indexes, this.#keys.groups(SCOPE.project)].map(slotOf))];
  }

  /** Runs rounds until `work` is done, and one more. */
  async runDuring(work: () => Promise<void>): Promise<void> {
    await this.#round();
    let isDone = false;
    const done = work().finally(() => {
      isDone = true;
    });
    // It is awaited below.
    done.catch(() => {});
    while (!isDone) await this.#round();
    await done;
    await this.#round();
  }

  /** Checks that sweeps reported, and followers received, the departure of every user from every group, each once. */
  async assertEachDepartureOnce(): Promise<void> {
    const users = Array.from({ length: this.#rounds }, (_, round) => `u${round}`);
    const expected = GROUPS.flatMap((groupId) => users.map((userId) => `${userId} ${groupId}`)).sort();
    await until('every departure is swept', async () => {
      await this.#sweep();
      return this.#swept.length >= expected.length;
    });
    assert.deepEqual(this.#swept.toSorted(), expected);
    const followed = () => this.#followers.flatMap(({ departed }) => departed);
    await until('every departure is received', async () => {
      // A renewal notices missed events where no event follows.
      await this.#renew(this.#now);
      return followed().length >= expected.length;
    });
    assert.deepEqual(followed().sort(), expected);
  }

  async #round(): Promise<void> {
    const userId = `u${this.#rounds}`;
    this.#rounds += 1;
    const now = this.#now + ROUND_MS;
    const arrive = (groupId: string) =>
      this.#repeatUntilDone(() =>
        this.#scene.set(userId, PAGE_1, { groupId, now, until: now + ROUND_MS / 2 }),
      );
    await Promise.all([this.#sweep(), ...GROUPS.map(arrive), this.#renew(now)]);
  }

  async #renew(now: number): Promise<void> {
    await Promise.all(this.#followers.map((follower) => follower.renew(now)));
  }

  async #repeatUntilDone(step: () => Promise<unknown>): Promise<void> {
    for (let isDone = false; !isDone && !this.#isOver; ) {
      isDone = await step().then(() => true, assertUnavailable);
    }
  }

  /** Both processes sweep at once, as their timers may. The next sweep makes up for a rejected one. */
  async #sweep(): Promise<void> {
    this.#now += ROUND_MS;
    const sweep = async (store: PresenceScene['store']) => {
      for (const { userId, groupId } of await store.sweep(this.#now))
        this.#swept.push(`${userId} ${groupId}`);
    };
    await Promise.all(
      [this.#scene.store, this.#scene.other].map((store) => sweep(store).catch(assertUnavailable)),
    );
  }
}
