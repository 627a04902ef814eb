import assert from 'node:assert/strict';
import type { PresenceStore, PresentUsers } from '../../../src/presence/presence-store.ts';
import { PresenceFollower } from '../../sim/presence-follower.ts';
import { Random } from '../../sim/random.ts';
import {
  at,
  INCARNATION,
  PAGE_1,
  PAGE_2,
  type PresenceScene,
  type Rule,
  SCOPE,
  SITE,
  START,
  TTL,
  withoutIncarnation,
} from './presence-scene.ts';

const SEED = 20_261;
const USERS = Array.from({ length: 12 }, (_, index) => `u${index + 10}`);
const LOCATIONS = Array.from({ length: 6 }, (_, index) => at({ page: `${index}` }));

const read = (store: PresenceStore, after: string | null = null, limit = 10_000, now = START) =>
  store.find({ ...SCOPE, filter: null, after, limit, now });

/** One random change. A sweep at the end of the test's second ends some of them. */
function change(scene: PresenceScene, random: Random): Promise<unknown> {
  const store = random.pick([scene.store, scene.other]);
  const userId = random.pick(USERS);
  const location = random.pick(LOCATIONS);
  const kind = random.below(20);
  if (kind === 0) return store.removeGroup(SCOPE, START);
  if (kind === 1) return store.removeUsers(SCOPE, random.some(USERS, 3), START);
  if (kind < 5) return store.clear({ ...SCOPE, userId, location, now: START });
  const region = random.pick([SITE, location]);
  return store.set({
    ...SCOPE,
    userId,
    incarnation: INCARNATION,
    region,
    location,
    now: START,
    expiresAt: START + TTL,
  });
}

/** All present users, with the position of the events at that state. */
export function snapshotContract(rule: Rule, crowdRule: Rule): void {
  rule(
    'a snapshot has all present users with their locations, in order, without expired ones',
    async (scene) => {
      await scene.set('bob', PAGE_2);
      await scene.set('bob', PAGE_1);
      await scene.set('ann', PAGE_1, { until: START + 5 });
      assert.deepEqual((await read(scene.store)).users.map(withoutIncarnation), [
        { userId: 'ann', locations: [PAGE_1] },
        { userId: 'bob', locations: [PAGE_1, PAGE_2] },
      ]);
      const later = await read(scene.store, null, 10, START + 5);
      assert.deepEqual(later.users.map(withoutIncarnation), [{ userId: 'bob', locations: [PAGE_1, PAGE_2] }]);
      assert.deepEqual(
        (
          await scene.store.find({
            ...SCOPE,
            groupId: 'empty',
            filter: null,
            after: null,
            limit: 10,
            now: START,
          })
        ).users,
        [],
      );
    },
  );

  rule('the offset of a snapshot is the position of the group, or 0 without a watcher', async (scene) => {
    await scene.set('ann', PAGE_1);
    assert.equal((await read(scene.store)).offset, 0);
    const { watch } = await scene.watch();
    assert.equal((await read(scene.store)).offset, watch.position.offset);
    await scene.set('ann', PAGE_2);
    assert.equal((await read(scene.store)).offset, watch.position.offset + 1);
    assert.equal((await read(scene.other)).offset, watch.position.offset + 1);
  });

  crowdRule('a snapshot is read in pages of at most 10,000 users', async (scene) => {
    const ids = Array.from({ length: 10_100 }, (_, index) => `u${index + 10_000}`);
    await Promise.all(ids.map((id) => scene.set(id, PAGE_1)));
    const page = async (after: string | null, limit: number) =>
      (await read(scene.other, after, limit)).users.map(({ userId }) => userId);
    assert.deepEqual(await page(null, 3), ids.slice(0, 3));
    assert.deepEqual(await page('u10002', 100), ids.slice(3, 103));
    assert.equal((await page(null, 50_000)).length, 10_000);
    assert.deepEqual(await page('u19999', 50_000), ids.slice(10_000));
  });

  rule(
    'a snapshot during racing updates, and the events after it, lead to the present state',
    async (scene) => {
      const random = new Random(SEED);
      const recorder = await scene.watch();
      const snapshots: Promise<PresentUsers>[] = [];
      const changes: Promise<unknown>[] = [];
      for (let step = 0; step < 400; step += 1) {
        changes.push(change(scene, random));
        if (step % 20 === 0) snapshots.push(read(random.pick([scene.store, scene.other])));
      }
      await Promise.all(changes);
      const last = await read(scene.store);
      const events = await recorder.upTo(last.offset);
      recorder.assertOrder();
      const { offset } = recorder.watch.position;
      for (const snapshot of [{ users: [], next: null, offset }, ...(await Promise.all(snapshots))]) {
        const follower = new PresenceFollower();
        follower.apply(snapshot.users);
        for (const event of events.slice(snapshot.offset - offset)) follower.follow(event);
        assert.deepEqual(follower.users(), last.users, `from ${snapshot.offset}, seed ${SEED}`);
      }
    },
  );

  rule(
    'the pages of a snapshot, each with the events after its own position, lead to the present state',
    async (scene) => {
      const random = new Random(SEED + 1);
      const recorder = await scene.watch();
      await Promise.all(Array.from({ length: 100 }, () => change(scene, random)));
      const follower = new PresenceFollower();
      /** For each user, the position of the page that covers the user's ID. */
      const known = new Map<string, number>();
      const changes: Promise<unknown>[] = [];
      for (let after: string | null = null, isLast = false; !isLast; ) {
        for (let index = 0; index < 30; index += 1) changes.push(change(scene, random));
        const { users, next, offset }: PresentUsers = await read(scene.other, after, 2);
        isLast = next === null;
        after = next;
        follower.apply(users);
        for (const userId of USERS) {
          if (!known.has(userId) && (isLast || userId <= (after as string))) known.set(userId, offset);
        }
      }
      await Promise.all(changes);
      const last = await read(scene.store);
      for (const [index, event] of (await recorder.upTo(last.offset)).entries()) {
        const offset = recorder.offsets[index] as number;
        for (const [userId, from] of known) if (offset > from) follower.follow(event, userId);
      }
      assert.deepEqual(follower.users(), last.users, `seed ${SEED + 1}`);
    },
  );
}
