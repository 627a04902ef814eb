import assert from 'node:assert/strict';
import { UNCHANGED } from '../../../src/presence/presence-store.ts';
import {
  PAGE_1,
  PAGE_2,
  PAGE_3,
  type PresenceScene,
  type Rule,
  SCOPE,
  SITE,
  START,
  TTL,
} from './presence-scene.ts';

const A = { connection: 'a' };
const LEASED = { ...A, lease: 'process' };
const renewed = (scene: PresenceScene, now: number, expiresAt = now + TTL) =>
  scene.store.renewLease({ ...SCOPE, lease: 'process', now, expiresAt });
/** How many holds the lease has; null where it has ended. */
const renew = async (scene: PresenceScene, now: number, expiresAt?: number) =>
  (await renewed(scene, now, expiresAt))?.holds ?? null;
const release = (scene: PresenceScene, now: number, at: number, lease?: string) =>
  scene.store.release({ ...SCOPE, userId: 'ann', ...A, ...(lease !== undefined && { lease }), now, at });
const retain = (scene: PresenceScene, now: number) =>
  scene.other.retain({ ...SCOPE, userId: 'ann', ...A, now });

export function leaseContract(rule: Rule): void {
  rule('one renewal of a lease extends all of its holds', async (scene) => {
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_2, { ...LEASED, connection: 'b' });
    await scene.set('bob', PAGE_1, LEASED);
    await scene.set('cat', PAGE_1);
    assert.equal(await renew(scene, START + TTL - 1), 3);
    assert.deepEqual(await scene.swept(START + TTL), [`cat ${PAGE_1}`]);
    assert.deepEqual(await scene.ids({ now: START + 2 * TTL - 2 }), ['ann', 'bob']);
    assert.deepEqual(await scene.ids({ now: START + 2 * TTL - 1 }), []);
  });

  rule('when a lease reaches its deadline each of its users departs once', async (scene) => {
    const watch = await scene.watch();
    const users = Array.from({ length: 300 }, (_, index) => `u${index}`);
    await Promise.all(users.map((userId) => scene.set(userId, PAGE_1, LEASED)));
    const [one, two] = await Promise.all([scene.swept(START + TTL), scene.swept(START + TTL)]);
    assert.deepEqual([...one, ...two].sort(), users.map((userId) => `${userId} ${PAGE_1}`).sort());
    assert.deepEqual(await scene.swept(START + 2 * TTL), []);
    const events = await watch.first(600);
    assert.ok(events.slice(300).every(({ type }) => type === 'departed'));
  });

  rule('a lease that has ended is not renewed, and takes no holds before it is swept', async (scene) => {
    await scene.set('ann', PAGE_1, LEASED);
    assert.equal(await renew(scene, START + TTL), null);
    assert.equal((await scene.set('bob', PAGE_1, { ...LEASED, now: START + TTL })).leaseEnded, true);
    assert.deepEqual(await scene.ids({ now: START + TTL }), []);
    await scene.set('bob', PAGE_1, { ...A, lease: 'another', now: START + TTL });
    assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
    assert.deepEqual(await scene.ids({ now: START + TTL }), ['bob']);
    await scene.set('ann', PAGE_1, { ...LEASED, now: START + TTL });
    assert.equal(await renew(scene, START + TTL), 1);
  });

  rule('a renewal never brings a deadline forward, and answers null for an unknown lease', async (scene) => {
    assert.equal(await renew(scene, START), null);
    await scene.set('ann', PAGE_1, LEASED);
    assert.equal(await renew(scene, START, START + 1), 1);
    assert.deepEqual(await scene.ids({ now: START + TTL - 1 }), ['ann']);
  });

  rule('a lease without holds lives until its deadline, and is not counted as presence', async (scene) => {
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('bob', PAGE_1, LEASED);
    await scene.set('ann', PAGE_1, A);
    assert.equal(await renew(scene, START), 1);
    await scene.clear('bob', PAGE_1);
    assert.equal(await renew(scene, START + 1), 0);
    assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
    assert.equal(await renew(scene, START + TTL), 0);
    assert.deepEqual(await scene.store.count(), { presences: 0, groups: 0 });
    assert.equal((await scene.set('ann', PAGE_1, { ...LEASED, now: START + 2 * TTL })).leaseEnded, true);
    await scene.swept(START + 2 * TTL);
    assert.equal(await renew(scene, START + 2 * TTL), null);
    await scene.set('ann', PAGE_1, { ...LEASED, now: START + 2 * TTL });
    assert.deepEqual(await renewed(scene, START + 2 * TTL), { updates: 1, holds: 1 });
  });

  rule('a lease counts its updates, whatever becomes of its holds', async (scene) => {
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_2, { ...LEASED, region: PAGE_1 });
    await scene.set('bob', PAGE_1, { ...LEASED, data: '{}' });
    await scene.set('bob', PAGE_1, { ...LEASED, lease: 'another' });
    await scene.set('cat', PAGE_1);
    await scene.clear('ann', PAGE_2);
    assert.deepEqual(await renewed(scene, START), { updates: 4, holds: 0 });
  });

  rule('leases of groups are apart', async (scene) => {
    const other = { ...SCOPE, groupId: 'another' };
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_1, { ...LEASED, ...other });
    assert.equal(await renew(scene, START + 1), 1);
    assert.deepEqual(await scene.ids({ ...other, now: START + TTL }), []);
    assert.deepEqual(await scene.ids({ now: START + TTL }), ['ann']);
  });

  rule('a released connection ends at its time, in all regions', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_2, { ...LEASED, region: SITE });
    await release(scene, START, START + 2_000, 'process');
    assert.equal(await renew(scene, START + 1), 0);
    assert.deepEqual(await scene.locationsOf('ann', START + 1_999), [PAGE_1, PAGE_2]);
    assert.deepEqual((await scene.swept(START + 2_000)).sort(), [`ann ${PAGE_1}`, `ann ${PAGE_2}`]);
    assert.deepEqual((await watch.first(3))[2], { type: 'releasing', userId: 'ann', connection: 'a' });
  });

  rule('a connection that is set again in time retains that hold alone', async (scene) => {
    await scene.set('ann', PAGE_1, A);
    await scene.set('ann', PAGE_2, A);
    await release(scene, START, START + 2_000);
    await scene.set('ann', PAGE_1, { ...LEASED, now: START + 1_000 });
    assert.deepEqual(await scene.swept(START + 2_000), [`ann ${PAGE_2}`]);
    assert.equal(await renew(scene, START + 2_000), 1);
  });

  rule(
    'a release that is taken back restores deadlines, of holds that had a lease that of the lease',
    async (scene) => {
      await scene.set('ann', PAGE_1, A);
      await scene.set('ann', PAGE_2, { ...LEASED, until: START + TTL + 1 });
      await scene.set('bob', PAGE_2, { ...LEASED, until: START + TTL + 1 });
      await release(scene, START, START + 2_000);
      await release(scene, START + 1, START + 1_000);
      await release(scene, START + 1, START + 1_000, 'process');
      await retain(scene, START + 999);
      assert.equal(await renew(scene, START + 1_000), 1);
      assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
      assert.deepEqual(await scene.swept(START + TTL + 1), [`ann ${PAGE_2}`]);
      assert.deepEqual(await scene.swept(START + 1_000 + TTL), [`bob ${PAGE_2}`]);
    },
  );

  rule(
    'an update that only refreshes takes back the release of a hold, and gives it the lease',
    async (scene) => {
      const watch = await scene.watch();
      await scene.set('ann', PAGE_1, LEASED);
      await release(scene, START, START + 2_000, 'process');
      const { holdEnded } = await scene.set('ann', PAGE_1, {
        ...LEASED,
        condition: 'refresh',
        now: START + 1_999,
      });
      assert.equal(holdEnded, undefined);
      assert.deepEqual(await scene.swept(START + 2_000), []);
      assert.deepEqual(await renewed(scene, START + 2_000), { updates: 2, holds: 1 });
      await scene.set('ann', PAGE_1, A);
      await scene.set('ann', PAGE_1, {
        ...A,
        lease: 'another',
        condition: 'refresh',
        until: START + TTL + 1,
      });
      assert.deepEqual(await scene.swept(START + TTL), []);
      assert.deepEqual((await watch.first(2)).at(-1)?.type, 'releasing');
    },
  );

  rule(
    'an update that only refreshes does nothing where the hold has ended, is elsewhere, or another lease has it',
    async (scene) => {
      const refresh = async (location = PAGE_1, setting = {}) => {
        const update = { ...LEASED, region: SITE, condition: 'refresh' as const, ...setting };
        return (await scene.set('ann', location, update)).holdEnded === true;
      };
      assert.equal(await refresh(), true, 'nobody is there');
      await scene.set('bob', PAGE_1, LEASED);
      assert.equal(await refresh(), true, 'the user is not there');
      await scene.set('ann', PAGE_1, { region: SITE });
      await scene.set('ann', PAGE_1, { region: SITE, connection: 'b' });
      assert.equal(await refresh(), true, 'others hold the location');
      await scene.set('ann', PAGE_2, { ...LEASED, region: SITE });
      assert.equal(await refresh(), true, 'the connection is elsewhere');
      assert.equal(await refresh(PAGE_2, { incarnation: 8 }), true, 'another membership');
      assert.equal(
        await refresh(PAGE_2, { lease: 'another', now: START + TTL }),
        true,
        'the hold has expired',
      );
      await scene.set('ann', PAGE_2, { ...A, region: SITE, lease: 'another' });
      assert.equal(await refresh(PAGE_2), true, 'another lease has it');
      await scene.set('ann', PAGE_2, { ...LEASED, region: SITE });
      assert.equal(await refresh(PAGE_2), false);
      assert.deepEqual(await scene.locationsOf('ann'), [PAGE_2]);
      assert.deepEqual(await renewed(scene, START), { updates: 4, holds: 2 });
    },
  );

  rule(
    'an update that takes no hold from another lease does nothing where one has it, and else is like any other',
    async (scene) => {
      const set = async (location = PAGE_1, setting = {}) => {
        const update = { ...LEASED, region: SITE, condition: 'unleased' as const, ...setting };
        return (await scene.set('ann', location, update)).holdEnded !== true;
      };
      assert.equal(await set(), true, 'nobody is there');
      assert.equal(await set(PAGE_2), true, 'it has the lease');
      assert.equal(await set(PAGE_2, { lease: 'another' }), false, 'another lease has it');
      assert.equal(await set(PAGE_1, { lease: 'another' }), false, 'also at another location');
      assert.equal(await set(PAGE_1, { lease: 'another', connection: 'b' }), true, 'another connection');
      assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
      assert.deepEqual(await renewed(scene, START), { updates: 2, holds: 1 });
      await scene.set('ann', PAGE_2, { ...A, region: SITE });
      assert.equal(await set(PAGE_1), true, 'no lease has it');
      const later = { lease: 'late', now: START + TTL };
      assert.equal(await set(PAGE_2, later), true, 'the other lease has ended');
      assert.deepEqual(await scene.locationsOf('ann', START + TTL), [PAGE_2]);
      const again = { lease: 'again', incarnation: 8, now: START + TTL };
      assert.equal(await set(PAGE_1, again), true, 'the other lease has a hold of an earlier membership');
    },
  );

  rule(
    'an update that takes over takes a live hold from whichever lease has it, and does nothing where the hold is not there',
    async (scene) => {
      const watch = await scene.watch();
      const takeOver = async (location = PAGE_1, setting = {}) => {
        const update = { ...A, lease: 'another', region: SITE, condition: 'takeOver' as const, ...setting };
        return (await scene.set('ann', location, update)).holdEnded !== true;
      };
      assert.equal(await takeOver(), false, 'nobody is there');
      await scene.set('ann', PAGE_1, { ...LEASED, region: SITE, data: '{"x":1}' });
      assert.equal(await takeOver(PAGE_2), false, 'the connection is elsewhere');
      assert.equal(await takeOver(PAGE_1, { incarnation: 8 }), false, 'another membership');
      assert.equal(await takeOver(), true);
      // The process that had it ends nothing any more.
      await release(scene, START, START, 'process');
      await release(scene, START, START + 2_000, 'another');
      assert.equal(await takeOver(PAGE_1, { now: START + 1_999 }), true, 'a release is taken back');
      assert.deepEqual(await scene.swept(START + 2_000), []);
      const late = { lease: 'late', now: START + 1_999 + TTL };
      assert.equal(await takeOver(PAGE_1, late), false, 'the hold has expired');
      assert.deepEqual(
        (await watch.first(2)).map(({ type }) => type),
        ['arrived', 'releasing'],
      );
    },
  );

  rule(
    'the holds of a connection that a lease has, or that are to be released, are found by it, the oldest first',
    async (scene) => {
      const holds = (now = START) => scene.store.holdsOf({ ...SCOPE, userId: 'ann', connection: 'a', now });
      const region = JSON.stringify({ section: 's'.repeat(300) });
      const far = JSON.stringify({ paragraph: '1', section: 's'.repeat(300) }) as typeof PAGE_1;
      assert.deepEqual(await holds(), []);
      await scene.set('ann', far, { ...LEASED, region: region as typeof PAGE_1 });
      await scene.set('ann', PAGE_1, { ...LEASED, region: SITE, data: '{"x":1}' });
      await scene.set('ann', PAGE_2, A);
      await scene.set('ann', PAGE_3, { connection: 'b', lease: 'process' });
      await scene.set('bob', PAGE_3, LEASED);
      await scene.set('ann', PAGE_3, { ...LEASED, groupId: 'another' });
      const [first, second, ...more] = await holds();
      assert.deepEqual(
        [first?.location, second, more],
        [far, { region: SITE, location: PAGE_1, data: '{"x":1}' }, []],
      );
      // The name of the long region stands for it.
      const named = { ...LEASED, region: first?.region as typeof PAGE_1 };
      assert.deepEqual(await scene.set('ann', far, named), UNCHANGED);
      await release(scene, START, START + 2_000);
      await release(scene, START, START + 1_000, 'process');
      assert.deepEqual(
        (await holds(START + 999)).map(({ location }) => location),
        [far, PAGE_1, PAGE_2],
      );
      assert.deepEqual(
        (await holds(START + 1_000)).map(({ location }) => location),
        [PAGE_2],
      );
    },
  );

  rule('a release that has come cannot be taken back', async (scene) => {
    await scene.set('ann', PAGE_1, A);
    await release(scene, START, START + 2_000);
    await retain(scene, START + 2_000);
    assert.deepEqual(await scene.swept(START + 2_000), [`ann ${PAGE_1}`]);
  });

  rule('a release never extends a hold, and at once it is an absence', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { ...A, until: START + 1 });
    await scene.set('ann', PAGE_2, { ...A, region: SITE });
    await release(scene, START, START + 2_000);
    assert.deepEqual(await scene.swept(START + 1), [`ann ${PAGE_1}`]);
    await release(scene, START + 1, START + 1);
    const events = await watch.first(5);
    assert.deepEqual(events.at(-1), { type: 'departed', userId: 'ann', location: PAGE_2, reason: 'absent' });
    await release(scene, START + 1, START + 2_000);
    watch.assertOrder();
  });

  rule('a release without a lease leaves what the connection holds by one', async (scene) => {
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_2, A);
    await release(scene, START, START);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
    await release(scene, START, START + 2_000);
    assert.equal(await renew(scene, START + 1), 1);
  });

  rule('a release of one lease leaves what the connection holds by another', async (scene) => {
    await scene.set('ann', PAGE_1, LEASED);
    await scene.set('ann', PAGE_2, { ...A, lease: 'new process' });
    await release(scene, START, START, 'process');
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_2]);
  });
}
