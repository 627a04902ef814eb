import assert from 'node:assert/strict';
import { PresenceKeys } from '../../src/presence/redis/presence-keys.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { slotOf } from '../../src/redis/slot.ts';
import { PAGE_1, PresenceScene, SCOPE, START } from '../contract/presence/presence-scene.ts';
import { until } from '../support/waiting.ts';
import { assertPassing, PresenceFollower } from './presence-follower.ts';

/** More than land on one node by chance. */
const GROUPS = Array.from({ length: 10 }, (_, index) => `g${index}`);
/** How far the crowd's clock goes from one round to the next: who came in one has left in the next. */
const ROUND_MS = 2_000;

/**
 * One user after the other who comes to every group and is not heard of again; two processes that sweep; and somebody who
 * follows each group. What is refused for now is asked again.
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

  /** Runs `use` with a crowd in a cluster, under a prefix of which nothing is there yet. */
  static async with(url: string, prefix: string, use: (crowd: Crowd) => Promise<void>): Promise<void> {
    // Patient, as the machine may have much else to do.
    const options = { url: `${url}?prefix=${prefix}&timeout_ms=20000` };
    const scene = new PresenceScene([await openRedisPresence(options), await openRedisPresence(options)]);
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

  /** Comes and goes round by round until `what` is done, and a little longer. */
  async whileAtWork(what: () => Promise<void>): Promise<void> {
    await this.#round();
    let isDone = false;
    const done = what().finally(() => {
      isDone = true;
    });
    // It is waited for below.
    done.catch(() => {});
    while (!isDone) await this.#round();
    await done;
    await this.#round();
  }

  /** That every user left every group was told by a sweep, and to who follows the group: each once, and nothing else. */
  async assertToldOnce(): Promise<void> {
    const everybody = Array.from({ length: this.#rounds }, (_, round) => `u${round}`);
    const expected = GROUPS.flatMap((groupId) => everybody.map((userId) => `${userId} ${groupId}`)).sort();
    await until('all was swept', async () => {
      await this.#sweep();
      return this.#swept.length >= expected.length;
    });
    assert.deepEqual(this.#swept.toSorted(), expected);
    const followed = () => this.#followers.flatMap(({ left }) => left);
    await until('all was told', async () => {
      // A sign of life shows what was missed where no event comes any more.
      await this.#renew(this.#now);
      return followed().length >= expected.length;
    });
    assert.deepEqual(followed().sort(), expected);
  }

  async #round(): Promise<void> {
    const userId = `u${this.#rounds}`;
    this.#rounds += 1;
    const now = this.#now + ROUND_MS;
    const come = (groupId: string) =>
      this.#insist(() => this.#scene.set(userId, PAGE_1, { groupId, now, until: now + ROUND_MS / 2 }));
    await Promise.all([this.#sweep(), ...GROUPS.map(come), this.#renew(now)]);
  }

  async #renew(now: number): Promise<void> {
    await Promise.all(this.#followers.map((follower) => follower.renew(now)));
  }

  async #insist(step: () => Promise<unknown>): Promise<void> {
    for (let isDone = false; !isDone && !this.#isOver; ) {
      isDone = await step().then(() => true, assertPassing);
    }
  }

  /** Both processes at once, as their timers may have it. What is refused is left to the next. */
  async #sweep(): Promise<void> {
    this.#now += ROUND_MS;
    const sweep = async (store: PresenceScene['store']) => {
      for (const { userId, groupId } of await store.sweep(this.#now))
        this.#swept.push(`${userId} ${groupId}`);
    };
    await Promise.all(
      [this.#scene.store, this.#scene.other].map((store) => sweep(store).catch(assertPassing)),
    );
  }
}
