import assert from 'node:assert/strict';
import { limits } from '@rollcall/protocol';
import {
  type PresenceEvent,
  READING_MAX_BYTES,
  READING_MAX_PRESENCES,
} from '../../../src/presence/presence-store.ts';
import type { Json } from '../../../src/values/json.ts';
import {
  at,
  type FoundUsers,
  INCARNATION,
  PAGE_1,
  type PresenceScene,
  type Rule,
  SCOPE,
  SITE,
  START,
  TTL,
} from './presence-scene.ts';

const MOST = limits.EPHEMERAL_LOCATIONS_MAX;
const LARGEST = limits.LOCATION_MAX_BYTES;
/** How many of the largest locations a user can have. */
const MOST_LARGEST = limits.EPHEMERAL_LOCATIONS_MAX_BYTES / LARGEST;

const page = (index: number): Json => at({ page: `${index}` });

/** A location of so many bytes of text, most of which are of several bytes each. */
function sized(name: string, bytes: number): Json {
  const empty = at({ name, text: '' }).length;
  const wide = Math.floor((bytes - empty) / 3);
  return at({ name, text: '\u{20ac}'.repeat(wide) + 'x'.repeat(bytes - empty - 3 * wide) });
}

const large = (index: number): Json => sized(`${index}`, LARGEST);

/** Sets the user present at each of these locations; each deadline is a millisecond after the one before. */
async function setAll(
  scene: PresenceScene,
  locations: readonly Json[],
  from = 0,
  user = 'ann',
): Promise<void> {
  for (const [index, location] of locations.entries())
    await scene.set(user, location, { until: START + TTL + from + index });
}

const pages = (count: number): Json[] => Array.from({ length: count }, (_, index) => page(index));
const larges = (count: number): Json[] => Array.from({ length: count }, (_, index) => large(index));
const departed = (location: Json, reason: 'removed' | 'expired'): PresenceEvent => ({
  type: 'departed',
  userId: 'ann',
  location,
  reason,
});
const arrived = (location: Json, from: Json | null = null): PresenceEvent => ({
  type: 'arrived',
  userId: 'ann',
  incarnation: INCARNATION,
  location,
  from,
});

/** All parts of one reading. */
async function partsOf(scene: PresenceScene, reading: Parameters<PresenceScene['part']>[0] = {}) {
  const parts: FoundUsers[] = [];
  for (let after: string | null = null; ; ) {
    const part: FoundUsers = await scene.part({ ...reading, after });
    parts.push(part);
    if (part.next === null) return parts;
    after = part.next;
  }
}

const bytesOf = ({ users }: FoundUsers) =>
  users.flatMap(({ locations }) => locations).reduce((sum, location) => sum + Buffer.byteLength(location), 0);

/** The bounds of a user's locations, and of one reading. */
export function boundsContract(rule: Rule, crowdRule: Rule): void {
  rule(
    'one location too many ends the one with the earliest deadline, and readers get the event',
    async (scene) => {
      await setAll(scene, pages(MOST));
      assert.equal((await scene.locationsOf('ann')).length, MOST, 'the bound itself is allowed');
      const recorder = await scene.watch();
      const change = await scene.set('ann', page(MOST), { until: START + TTL + MOST });
      assert.deepEqual(change, { arrived: true, created: true, departed: null });
      assert.deepEqual(await recorder.first(2), [arrived(page(MOST)), departed(page(0), 'removed')]);
      const locations = await scene.locationsOf('ann');
      assert.equal(locations.length, MOST);
      assert.ok(!locations.includes(page(0)) && locations.includes(page(MOST)));
      assert.deepEqual(await scene.ids({ location: page(0) }), []);
      assert.deepEqual(await scene.ids({ location: page(0), partial: true }), []);
      await scene.set('ann', page(0), { until: START + TTL + MOST + 1 });
      const [, , ...next] = await recorder.first(4);
      assert.deepEqual(next, [arrived(page(0)), departed(page(1), 'removed')]);
    },
  );

  rule('a refresh orders a location by its new deadline, and ends none', async (scene) => {
    await setAll(scene, pages(MOST));
    const recorder = await scene.watch();
    await scene.set('ann', page(0), { until: START + 2 * TTL });
    await scene.set('ann', page(MOST), { until: START + 2 * TTL });
    assert.deepEqual(await recorder.first(2), [arrived(page(MOST)), departed(page(1), 'removed')]);
  });

  rule(
    'an update never ends the location that it sets, also when its deadline is the earliest',
    async (scene) => {
      await setAll(scene, pages(MOST));
      await scene.set('ann', PAGE_1, { region: SITE, until: START + 1 });
      const locations = await scene.locationsOf('ann');
      assert.equal(locations.length, MOST - 1, 'page 0 ended, and page 1 is in two regions');
      assert.ok(locations.includes(PAGE_1) && !locations.includes(page(0)));
    },
  );

  rule('a move inside a region within the bounds ends no other location', async (scene) => {
    await setAll(scene, pages(MOST - 1));
    await scene.set('ann', at({ line: '1' }), { region: SITE, until: START + 1 });
    const recorder = await scene.watch();
    await scene.set('ann', at({ line: '2' }), { region: SITE, until: START + 1 });
    await scene.clear('ann', page(7));
    assert.equal((await recorder.first(2))[1]?.type, 'departed');
    assert.equal((await scene.locationsOf('ann')).length, MOST - 1);
  });

  rule('the locations of a user have at most 64 KiB of text, in UTF-8', async (scene) => {
    await setAll(scene, larges(MOST_LARGEST));
    assert.equal((await scene.locationsOf('ann')).length, MOST_LARGEST, 'the bound itself is allowed');
    const recorder = await scene.watch();
    const short = at({ a: '' });
    await scene.set('ann', short, { until: START + 2 * TTL });
    assert.deepEqual(await recorder.first(2), [arrived(short), departed(large(0), 'removed')]);
    const other = sized('other', LARGEST - Buffer.byteLength(short));
    await scene.set('ann', other, { until: START + 2 * TTL });
    assert.equal((await scene.locationsOf('ann')).length, MOST_LARGEST + 1);
    await scene.set('ann', large(MOST_LARGEST), { until: START + 2 * TTL });
    assert.deepEqual((await recorder.first(5)).slice(2), [
      arrived(other),
      arrived(large(MOST_LARGEST)),
      departed(large(1), 'removed'),
    ]);
  });

  rule('an update ends as many locations as it takes, the earliest deadline first', async (scene) => {
    const most = larges(MOST_LARGEST - 1);
    const small = Array.from({ length: 56 }, (_, index) => sized(`s${index}`, 130));
    await setAll(scene, most);
    await setAll(scene, small.toReversed(), -MOST);
    await scene.set('ann', PAGE_1, { region: SITE });
    const recorder = await scene.watch();
    // It exceeds the bound by the bytes of all small locations but one.
    const moved = sized('moved', LARGEST - 130);
    await scene.set('ann', moved, { region: SITE, until: START + 2 * TTL });
    const ended = small.toReversed().slice(0, -1);
    assert.deepEqual(await recorder.first(1 + ended.length), [
      arrived(moved, PAGE_1),
      ...ended.map((location) => departed(location, 'removed')),
    ]);
    assert.deepEqual((await scene.locationsOf('ann')).length, most.length + 2);
  });

  rule('a bound ends expired locations first, as expired, and no sweep reports them again', async (scene) => {
    await setAll(scene, pages(MOST));
    const recorder = await scene.watch();
    const now = START + TTL;
    await scene.set('ann', page(MOST), { now, until: now + TTL });
    assert.deepEqual(await recorder.first(2), [arrived(page(MOST)), departed(page(0), 'expired')]);
    assert.deepEqual(await scene.swept(now), []);
    assert.equal((await scene.locationsOf('ann', now)).length, MOST);
  });

  rule(
    'a bound that ends a location in one region publishes nothing while another region has it',
    async (scene) => {
      await setAll(scene, pages(MOST - 1));
      await scene.set('ann', page(0), { region: SITE, until: START + 2 * TTL });
      const recorder = await scene.watch();
      await scene.set('ann', page(MOST), { until: START + 2 * TTL });
      await scene.set('ann', page(MOST + 1), { until: START + 2 * TTL });
      assert.deepEqual(await recorder.first(3), [
        arrived(page(MOST)),
        arrived(page(MOST + 1)),
        departed(page(1), 'removed'),
      ]);
      assert.ok((await scene.locationsOf('ann')).includes(page(0)));
    },
  );

  rule('the bounds count one user in one group', async (scene) => {
    await setAll(scene, pages(MOST));
    await scene.set('ann2', page(MOST));
    await scene.set('ann', page(MOST), { groupId: 'another' });
    await scene.set('an', page(MOST));
    assert.equal((await scene.locationsOf('ann')).length, MOST);
    await scene.store.removeUsers(SCOPE, ['ann'], START);
    await setAll(scene, larges(MOST_LARGEST));
    assert.equal((await scene.locationsOf('ann')).length, MOST_LARGEST, 'what ended counts no more');
  });

  rule('racing updates of one user leave no more locations than the bound', async (scene) => {
    const updates = pages(2 * MOST).map((location, index) => ({
      ...SCOPE,
      userId: 'ann',
      region: location,
      incarnation: INCARNATION,
      location,
      now: START,
      expiresAt: START + TTL + index,
    }));
    await Promise.all(
      updates.map((update, index) => (index % 2 === 0 ? scene.store : scene.other).set(update)),
    );
    assert.equal((await scene.locationsOf('ann')).length, MOST);
    assert.equal((await scene.swept(START + 2 * TTL)).length, MOST);
    assert.deepEqual(await scene.find(), []);
  });

  rule('locations and regions of the greatest length are set, moved, found and ended', async (scene) => {
    await scene.set('ann', large(1), { region: large(2) });
    assert.deepEqual(await scene.set('ann', large(3), { region: large(2) }), {
      arrived: true,
      created: false,
      departed: large(1),
    });
    assert.deepEqual(await scene.ids({ location: large(3) }), ['ann']);
    assert.deepEqual(await scene.ids({ location: at({ name: '3' }), partial: true }), ['ann']);
    assert.deepEqual(await scene.ids({ location: large(3), partial: true }), ['ann']);
    assert.deepEqual(await scene.ids({ location: large(1), partial: true }), []);
    assert.equal(await scene.clear('ann', large(3)), true);
    assert.deepEqual(await scene.find(), []);
  });

  rule('a reading of large locations ends early, with whole users', async (scene) => {
    const users = Array.from({ length: 40 }, (_, index) => `u${index + 10}`);
    for (const user of users) await setAll(scene, larges(MOST_LARGEST), 0, user);
    const parts = await partsOf(scene);
    assert.deepEqual(
      parts.flatMap((part) => part.users.map(({ userId }) => userId)),
      users,
    );
    for (const part of parts) {
      assert.ok(bytesOf(part) < READING_MAX_BYTES + limits.EPHEMERAL_LOCATIONS_MAX_BYTES, `${bytesOf(part)}`);
      assert.ok(part.users.every(({ locations }) => locations.length === MOST_LARGEST));
    }
    assert.ok(parts.length >= 3);
    // A filter of several pairs is an intersection over the locations that have each pair.
    const one = await partsOf(scene, { location: large(3), partial: true });
    assert.deepEqual(
      one.flatMap((part) => part.users),
      users.map((userId) => ({ userId, locations: [large(3)] })),
    );
  });

  rule('a reading of many users at one large location ends early', async (scene) => {
    const users = Array.from({ length: 300 }, (_, index) => `u${index + 100}`);
    await Promise.all(users.map((userId) => scene.set(userId, large(3))));
    for (const partial of [false, true]) {
      const parts = await partsOf(scene, { location: large(3), partial });
      assert.deepEqual(
        parts.flatMap((part) => part.users.map(({ userId }) => userId)),
        users,
      );
      assert.ok(parts.every((part) => bytesOf(part) <= READING_MAX_BYTES + LARGEST));
      assert.ok(parts.length >= 3);
    }
  });

  rule('a reading of many users with data ends early, with whole users', async (scene) => {
    const data = at({ text: 'x'.repeat(limits.PRESENCE_DATA_MAX_BYTES - 20) });
    const users = Array.from({ length: 1_200 }, (_, index) => `u${index + 1_000}`);
    await Promise.all(users.map((userId) => scene.set(userId, page(0), { data })));
    const parts = await partsOf(scene);
    assert.deepEqual(
      parts.flatMap((part) => part.users.map(({ userId }) => userId)),
      users,
    );
    assert.equal(parts.length, 2);
  });

  crowdRule(
    'members at very many locations are removed with events that name each of them once',
    async (scene) => {
      const users = Array.from({ length: 30 }, (_, index) => `u${index + 10}`);
      await Promise.all(
        users.flatMap((userId) => pages(MOST).map((location) => scene.set(userId, location))),
      );
      await scene.set('ann', PAGE_1);
      const recorder = await scene.watch();
      await scene.store.removeUsers(SCOPE, [...users, 'nobody'], START);
      assert.deepEqual(await scene.ids(), ['ann']);
      const named: string[] = [];
      for (let count = 1; named.length <= users.length; count += 1) {
        const event = (await recorder.first(count)).at(-1);
        assert.ok(event?.type === 'usersRemoved', JSON.stringify(event));
        named.push(...event.userIds);
      }
      assert.deepEqual(named, [...users, 'nobody']);
      assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
    },
  );

  crowdRule(
    'a reading that passes over many presences ends early, and names where the next one starts',
    async (scene) => {
      const many = Array.from({ length: READING_MAX_PRESENCES + 500 }, (_, index) => `u${index + 10_000}`);
      const others = many.map((userId) => scene.set(userId, at({ page: '1', role: 'reader', of: userId })));
      await Promise.all(others);
      const editors = ['a', 'u19999x', 'u20499x', 'z'];
      // More locations with the pair than the driver merges one by one.
      for (const userId of editors)
        for (let index = 0; index < 20; index += 1)
          await scene.set(userId, at({ page: '1', role: 'editor', of: `${userId} ${index}` }));
      await Promise.all(many.map((userId) => scene.set(userId, at({ role: 'editor', of: userId }))));
      const parts = await partsOf(scene, { location: at({ page: '1', role: 'editor' }), partial: true });
      assert.deepEqual(
        parts.flatMap((part) => part.users.map(({ userId }) => userId)),
        editors,
      );
      assert.ok(parts.length >= 2, `${parts.length} parts`);
      assert.deepEqual(
        await scene.ids({ location: at({ page: '1', role: 'editor' }), partial: true }),
        editors,
      );
    },
  );
}
