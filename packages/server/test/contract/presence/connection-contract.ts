import assert from 'node:assert/strict';
import { limits } from '@rollcall/protocol';
import { at, PAGE_1, PAGE_2, PAGE_3, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

const A = { connection: 'a' };
const B = { connection: 'b' };
const IN_SITE = { region: SITE };
const user = (...locations: string[]) => [{ userId: 'ann', locations }];
const arrived = (location: string, from: string | null = null) => ({
  type: 'arrived',
  userId: 'ann',
  incarnation: 7,
  location,
  from,
});
const departed = (location: string, reason: string) => ({
  type: 'departed',
  userId: 'ann',
  location,
  reason,
});

export function connectionContract(rule: Rule, crowdRule: Rule): void {
  rule('a user is at a location until the last connection releases it', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, A);
    assert.deepEqual(await scene.set('ann', PAGE_1, B), { arrived: false, created: false, departed: null });
    await scene.set('ann', PAGE_1);
    assert.equal(await scene.clear('ann', PAGE_1, START, SCOPE, 'a'), true);
    assert.equal(await scene.clear('ann', PAGE_1, START, SCOPE, 'a'), false);
    assert.deepEqual(await scene.find(), user(PAGE_1));
    assert.equal(await scene.clear('ann', PAGE_1, START, SCOPE, 'b'), true);
    assert.deepEqual(await scene.find({ location: PAGE_1 }), user(PAGE_1));
    assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
    assert.deepEqual(await watch.first(2), [arrived(PAGE_1), departed(PAGE_1, 'expired')]);
  });

  rule('absent without a connection clears a location of every holder, in every region', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, A);
    await scene.set('ann', PAGE_1, { ...B, ...IN_SITE });
    await scene.set('ann', PAGE_1);
    assert.equal(await scene.clear('ann', PAGE_1), true);
    assert.deepEqual(await scene.find(), []);
    assert.deepEqual(await scene.swept(START + TTL), []);
    assert.deepEqual(await watch.first(2), [arrived(PAGE_1), departed(PAGE_1, 'absent')]);
  });

  rule('the newest holder is where the user is in an exclusive region', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { ...A, ...IN_SITE });
    const moved = await scene.set('ann', PAGE_2, { ...B, ...IN_SITE });
    assert.deepEqual(moved, { arrived: true, created: false, departed: PAGE_1 });
    assert.deepEqual(await scene.find(), user(PAGE_2));
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), []);
    // Refreshing makes a holder no newer.
    await scene.set('ann', PAGE_1, { ...A, ...IN_SITE });
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_2]);
    await scene.clear('ann', PAGE_2, START, SCOPE, 'b');
    assert.deepEqual(await scene.find({ location: PAGE_1 }), user(PAGE_1));
    assert.deepEqual(await watch.first(3), [
      arrived(PAGE_1),
      arrived(PAGE_2, PAGE_1),
      arrived(PAGE_1, PAGE_2),
    ]);
  });

  rule('a holder that is not the newest leaves silently', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { ...IN_SITE, until: START + 1 });
    await scene.set('ann', PAGE_2, { ...A, ...IN_SITE });
    await scene.set('ann', PAGE_3, { ...B, ...IN_SITE });
    assert.deepEqual(await scene.swept(START + 1), []);
    assert.equal(await scene.clear('ann', PAGE_2, START, SCOPE, 'a'), true);
    assert.equal(await scene.clear('ann', PAGE_3, START, SCOPE, 'b'), true);
    const [, , , last] = await watch.first(4);
    assert.deepEqual(last, departed(PAGE_3, 'absent'));
  });

  rule(
    'when the newest holder expires the user is where the next newest is, also before a sweep',
    async (scene) => {
      const watch = await scene.watch();
      await scene.set('ann', PAGE_1, { ...A, ...IN_SITE });
      await scene.set('ann', PAGE_2, { ...IN_SITE, until: START + 1_000 });
      assert.deepEqual(await scene.find({ now: START + 1_000 }), user(PAGE_1));
      assert.deepEqual(await scene.find({ now: START + 1_000, location: PAGE_1 }), user(PAGE_1));
      assert.deepEqual(await scene.locationsOf('ann', START + 1_000), [PAGE_1]);
      assert.deepEqual(await scene.swept(START + 1_000), []);
      const [, , third] = await watch.first(3);
      assert.deepEqual(third, arrived(PAGE_1, PAGE_2));
      assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
    },
  );

  rule('a holder that ended and is set again is the newest', async (scene) => {
    await scene.set('ann', PAGE_1, { ...A, ...IN_SITE, until: START + 1 });
    await scene.set('ann', PAGE_2, { ...B, ...IN_SITE });
    await scene.set('ann', PAGE_1, { ...A, ...IN_SITE, now: START + 1 });
    assert.deepEqual(await scene.find({ now: START + 1 }), user(PAGE_1));
  });

  rule(
    'a departure from holders that have ended in several regions shows the user there with the data of a live one',
    async (scene) => {
      const watch = await scene.watch();
      const ended = START + 1;
      for (const region of [SITE, PAGE_1]) {
        await scene.set('ann', PAGE_1, { connection: 'c', region });
        await scene.set('ann', PAGE_1, { ...B, region, data: '{"x":1}', until: ended });
        await scene.set('ann', PAGE_1, { ...A, region, until: ended });
      }
      await scene.set('ann', PAGE_1, { region: PAGE_3 });
      await scene.set('ann', PAGE_2, { region: PAGE_3, now: ended });
      await scene.clear('ann', PAGE_2, ended);
      assert.deepEqual(await scene.find({ now: ended }), user(PAGE_1));
      assert.deepEqual((await watch.first(8)).slice(5), [
        arrived(PAGE_2, PAGE_1),
        arrived(PAGE_1),
        departed(PAGE_2, 'absent'),
      ]);
    },
  );

  rule(
    'clearing the newest location of a region leaves the user where the next newest holder is',
    async (scene) => {
      const watch = await scene.watch();
      await scene.set('ann', PAGE_1, { ...A, ...IN_SITE });
      await scene.set('ann', PAGE_2, { ...B, ...IN_SITE });
      assert.equal(await scene.clear('ann', PAGE_2), true);
      assert.deepEqual(await scene.find(), user(PAGE_1));
      assert.deepEqual((await watch.first(3))[2], arrived(PAGE_1, PAGE_2));
    },
  );

  rule('users of a connection of the same name do not concern each other', async (scene) => {
    await scene.set('ann', PAGE_1, A);
    await scene.set('bob', PAGE_1, A);
    await scene.store.release({ ...SCOPE, userId: 'ann', connection: 'a', at: START, now: START });
    assert.deepEqual(await scene.ids(), ['bob']);
  });

  rule(
    'a connection that is released at once departs with absent, or with the reason of the release',
    async (scene) => {
      const watch = await scene.watch();
      const now = { at: START, now: START };
      await scene.set('ann', PAGE_1, A);
      await scene.set('ann', PAGE_2, { ...B, lease: 'process' });
      await scene.store.release({ ...SCOPE, userId: 'ann', ...A, ...now });
      await scene.store.release({
        ...SCOPE,
        userId: 'ann',
        ...B,
        lease: 'process',
        ...now,
        reason: 'removed',
      });
      assert.deepEqual((await watch.first(4)).slice(2), [
        departed(PAGE_1, 'absent'),
        departed(PAGE_2, 'removed'),
      ]);
    },
  );

  rule('one connection more than the bound ends the one with the earliest deadline', async (scene) => {
    const watch = await scene.watch();
    for (let count = 0; count < limits.CONNECTIONS_MAX; count += 1) {
      const until = START + TTL + ((count + 50) % limits.CONNECTIONS_MAX);
      await scene.set('ann', PAGE_1, { connection: `c${count}`, until });
    }
    await scene.set('ann', PAGE_2, { connection: 'c50', until: START + TTL });
    await scene.set('ann', PAGE_3, { connection: 'one more' });
    // c50 had the earliest deadline, and was at two locations.
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1, PAGE_3]);
    assert.equal(await scene.clear('ann', PAGE_1, START, SCOPE, 'c50'), false);
    assert.equal(await scene.clear('ann', PAGE_1, START, SCOPE, 'c51'), true);
    assert.deepEqual((await watch.first(4))[3], departed(PAGE_2, 'removed'));
  });

  rule('a location that many connections hold counts once in the bounds', async (scene) => {
    const large = at({ page: '1', text: 'x'.repeat(1_000), more: 'y'.repeat(1_000) });
    for (let count = 0; count < limits.CONNECTIONS_MAX; count += 1) {
      await scene.set('ann', large, { connection: `c${count}` });
    }
    await scene.set('ann', PAGE_2);
    assert.deepEqual(await scene.locationsOf('ann'), [large, PAGE_2]);
  });

  rule('one location more than the bound ends the earliest one with all of its holders', async (scene) => {
    for (let count = 0; count < limits.EPHEMERAL_LOCATIONS_MAX; count += 1) {
      await scene.set('ann', at({ page: `${count}` }), { ...A, until: START + TTL + count });
    }
    await scene.set('ann', at({ page: '0' }), { ...B, until: START + TTL + 1_000 });
    await scene.set('ann', at({ page: 'more' }), { ...B, until: START + TTL + 1_000 });
    const locations = await scene.locationsOf('ann');
    assert.equal(locations.length, limits.EPHEMERAL_LOCATIONS_MAX);
    assert.ok(locations.includes(at({ page: '0' })));
    assert.ok(!locations.includes(at({ page: '1' })));
  });

  crowdRule('one hold more than the bound ends the one with the earliest deadline', async (scene) => {
    const perConnection = limits.HOLDS_MAX / 50;
    const sets = Array.from({ length: limits.HOLDS_MAX }, (_, index) =>
      scene.set('ann', at({ page: `${index % perConnection}` }), {
        connection: `c${Math.floor(index / perConnection)}`,
        until: START + TTL + index,
      }),
    );
    await Promise.all(sets);
    await scene.set('ann', PAGE_1, { connection: 'c49', region: SITE, until: START + 2 * TTL });
    assert.equal(await scene.clear('ann', at({ page: '0' }), START, SCOPE, 'c0'), false);
    assert.equal(await scene.clear('ann', at({ page: '1' }), START, SCOPE, 'c0'), true);
  });

  rule('holds of an earlier membership end with the first of a new one', async (scene) => {
    await scene.set('ann', PAGE_1, A);
    await scene.set('ann', PAGE_2, { ...B, incarnation: 8 });
    assert.deepEqual(await scene.locationsOf('ann', START, SCOPE, 8), [PAGE_2]);
    assert.deepEqual(await scene.locationsOf('ann'), []);
  });
}
