/** The bounds of a user's locations, and of one page of presence. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { Browser, clientToken } from '../support/browser.ts';
import { ClientStream } from '../support/client-stream.ts';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { MovedClock } from '../support/moved-clock.ts';
import {
  type Location,
  Presence,
  type PresencePage,
  pageLocation as page,
} from '../support/presence-client.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
const presence = () => Presence.inNewProject(server);
const PAGE_MAX_BYTES = 4_194_304;

/** A browser of this user in the group `g`. */
const browserOf = ({ project }: Presence, userId: string) =>
  new Browser(project, clientToken(project, { user_id: userId, group_id: 'g' }, clock.now()));

/** A location of so many bytes of JSON, with room for 7,000 at least. */
function sized(bytes: number, name = ''): Location {
  const location: Location = { name };
  for (let left = bytes - Buffer.byteLength(JSON.stringify(location)), key = 0; left > 0; key += 1) {
    const around = ',"k0":""'.length;
    const length = left < 1_024 + 2 * around ? left - around : 1_000;
    location[`k${key}`] = 'x'.repeat(length);
    left -= length + around;
  }
  assert.equal(Buffer.byteLength(JSON.stringify(location)), bytes);
  return location;
}

/** In the group `g` of a new project, each of so many users has 8 of the largest locations. */
async function crowd(count: number): Promise<Presence> {
  const ids = Array.from({ length: count }, (_, index) => `u${index + 100}`);
  const project = await server.projectWithGroup('g', ...ids);
  for (const userID of ids) {
    const updates = Array.from({ length: 8 }, (_, index) => ({
      userID,
      groupID: 'g',
      location: sized(limits.LOCATION_MAX_BYTES, `${index}`),
    }));
    assert.equal(expectOk<{ updated: number }>(await project.put('/v1/presence', { updates })).updated, 8);
  }
  return new Presence(project);
}

describe('a location has at most 8 KiB of JSON', () => {
  const largest = sized(limits.LOCATION_MAX_BYTES);
  const tooLarge = sized(limits.LOCATION_MAX_BYTES + 1);
  const message = ['8192 bytes', 'location'];

  test('a location of more than 8 KiB of JSON is invalid_field in `location` and `exclusiveWithin`, of a host and of a browser', async () => {
    const p = await presence();
    await p.set('a', largest, { exclusiveWithin: largest });
    assert.deepEqual(await p.locationsOf('a'), [largest]);
    await p.setAbsent('a', largest);
    await p.set('a', largest, { durable: true });
    expectError(await p.put('a', { location: tooLarge }), 400, 'invalid_field', ...message);
    const within = await p.put('a', { location: tooLarge, exclusiveWithin: tooLarge });
    expectError(within, 400, 'invalid_field', 'exclusiveWithin', '8192 bytes');
    const browser = browserOf(p, 'a');
    expectDone(await browser.putPresence({ location: largest }));
    expectError(await browser.putPresence({ location: tooLarge }), 400, 'invalid_field', ...message);
    expectError(await p.put('a', { location: tooLarge, absent: true }), 400, 'invalid_field', ...message);
  });

  test('a location of more than 8 KiB of JSON is invalid_field in each of many updates', async () => {
    const p = await presence();
    const updates = [largest, tooLarge].map((location) => ({ userID: 'a', groupID: 'g', location }));
    const answer = await p.project.put('/v1/presence', { updates });
    expectError(answer, 400, 'invalid_field', 'updates[1].location', '8192 bytes');
    assert.deepEqual(await p.everyone(), []);
  });

  test('a location of more than 8 KiB of JSON is invalid_field in the filter of a reading', async () => {
    const p = await presence();
    await p.set('a', largest);
    const path = (location: Location) =>
      `/v1/groups/g/presence?${new URLSearchParams({ location: JSON.stringify(location) })}`;
    assert.equal(expectOk<PresencePage>(await p.project.get(path(largest))).users.length, 1);
    expectError(await p.project.get(path(tooLarge)), 400, 'invalid_field', 'location', '8192 bytes');
  });

  test('a filter of the largest location is read also where each of its bytes is escaped in the query', async () => {
    const p = await presence();
    const euros = '\u{20ac}'.repeat(900);
    const location = { a: euros, b: euros, c: euros };
    await p.set('a', location);
    const query = new URLSearchParams({ location: JSON.stringify(location), partial_match: 'true' });
    assert.ok(`${query}`.length > 24_000);
    assert.equal(
      expectOk<PresencePage>(await p.project.get(`/v1/groups/g/presence?${query}`)).users.length,
      1,
    );
  });

  test('the 8 KiB of a location count UTF-8 bytes and escapes as written', async () => {
    const p = await presence();
    // 3 bytes each, 6 where it is escaped; with `{"k":"","l":""}` around them.
    const euros = (count: number) => ({ k: '\u{20ac}'.repeat(1_024), l: '\u{20ac}'.repeat(count - 1_024) });
    await p.set('a', euros(2_048));
    const controls = (count: number) => ({
      k: '\u{1}'.repeat(1_024),
      l: '\u{1}'.repeat(count - 1_024),
    });
    const most = Math.floor((limits.LOCATION_MAX_BYTES - '{"k":"","l":""}'.length) / 6);
    await p.set('b', controls(most));
    assert.deepEqual(await p.locationsOf('b'), [controls(most)]);
    expectError(await p.put('b', { location: controls(most + 1) }), 400, 'invalid_field', 'location');
  });
});

describe('a user has at most 100 ephemeral locations in a group', () => {
  test('one ephemeral location more than 100 ends the oldest, and a reader gets departed with the reason removed', async () => {
    const p = await presence();
    for (let index = 0; index < limits.EPHEMERAL_LOCATIONS_MAX; index += 1) {
      await p.set('a', page(index));
      clock.move(1);
    }
    await p.set('a', page(0));
    using stream = await ClientStream.open(browserOf(p, 'b'));
    const { users } = await stream.expect('snapshot');
    assert.equal(users[0].ephemeral.locations.length, limits.EPHEMERAL_LOCATIONS_MAX);
    await p.set('a', page(100));
    assert.deepEqual(await stream.expect('arrived'), { id: 'a', location: page(100) });
    const departed = { id: 'a', location: page(1), reason: 'removed' };
    assert.deepEqual(await stream.expect('departed'), departed, 'page 0 was refreshed');
    assert.equal((await p.locationsOf('a')).length, limits.EPHEMERAL_LOCATIONS_MAX);
    await p.set('b', page(100));
    assert.equal(
      (await p.locationsOf('a')).length,
      limits.EPHEMERAL_LOCATIONS_MAX,
      "another user's are apart",
    );
  });

  test('the ephemeral locations of a user have at most 64 KiB together', async () => {
    const p = await presence();
    const browser = browserOf(p, 'a');
    for (let index = 0; index < 20; index += 1) {
      const location = sized(limits.LOCATION_MAX_BYTES, `${index}`);
      expectDone(await browser.putPresence({ location }));
    }
    const locations = await p.locationsOf('a');
    assert.equal(locations.length, 8);
    assert.ok(locations.some(({ name }) => name === '19'));
  });
});

describe('a page of presence', () => {
  test('a page of presence ends with the entry that makes it larger than 4 MiB, and its token leads to the rest', async () => {
    const p = await crowd(140);
    for (const client of [p.project, browserOf(p, 'u100')]) {
      const path = client instanceof Browser ? '/v1/client/presence' : '/v1/groups/g/presence';
      const ids: string[] = [];
      const sizes: number[] = [];
      for (let token: string | null = ''; token !== null; ) {
        const answer: Answer = await client.get(
          `${path}?${token === '' ? '' : `token=${token}&`}limit=10000`,
        );
        const { users, pagination }: PresencePage = expectOk(answer);
        ids.push(...users.map(({ id }) => id));
        assert.ok(users.every(({ ephemeral }) => ephemeral.locations.length === 8));
        sizes.push(Buffer.byteLength(JSON.stringify(users)));
        token = pagination.token;
      }
      assert.deepEqual(
        ids,
        Array.from({ length: 140 }, (_, index) => `u${index + 100}`),
      );
      assert.equal(sizes.length, 3, `${sizes}`);
      for (const size of sizes.slice(0, -1)) {
        assert.ok(size > PAGE_MAX_BYTES && size <= PAGE_MAX_BYTES + 66_000, `${size} bytes`);
      }
    }
    const count = await p.project.get('/v1/groups/g/presence?count_only=true');
    assert.deepEqual(expectOk(count), { count: 140 });
  });

  test('a page of presence also counts the bytes of durable locations towards 4 MiB', async () => {
    const ids = Array.from({ length: 600 }, (_, index) => `u${index + 100}`);
    const project = await server.projectWithGroup('g', ...ids);
    const location = sized(limits.LOCATION_MAX_BYTES);
    for (let from = 0; from < ids.length; from += 100) {
      const updates = ids.slice(from, from + 100).map((userID, index) => ({
        userID,
        groupID: 'g',
        location: index % 2 === 0 ? location : page(1),
        durable: true,
      }));
      // One of the locations in two is small, so that pages are not of one size.
      expectOk(await project.put('/v1/presence', { updates }));
    }
    const p = new Presence(project);
    const first = await p.page({ limit: '10000' });
    assert.equal(first.users.length, ids.length, 'half of them are 2.4 MB');
    for (let from = 0; from < ids.length; from += 100) {
      const updates = ids.slice(from, from + 100).map((userID) => ({ userID, groupID: 'g', location }));
      expectOk(await project.put('/v1/presence', { updates }));
    }
    const found: string[] = [];
    for (let token: string | null = ''; token !== null; ) {
      const query: Record<string, string> = token === '' ? {} : { token };
      const { users, pagination } = await p.page({
        ...query,
        limit: '10000',
        location: JSON.stringify(location),
      });
      assert.ok(JSON.stringify(users).length <= PAGE_MAX_BYTES + 20_000);
      found.push(...users.map(({ id }) => id));
      token = pagination.token;
    }
    assert.deepEqual(found, ids);
  });
});
