import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import {
  type PresenceStore,
  type PresenceUpdate,
  WATCH_LEASE_MS,
} from '../../src/presence/presence-store.ts';
import { closing } from '../support/closing.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const COUNT = 50_000;
/** Where the memory of each is measured: maps, which grow by doubling, are as full as with {@link COUNT}. */
const FEWER = COUNT / 4;
const START = 1_900_000_000_000;
const SCOPE = { project: 1, groupId: 'group' };
/** The most memory of one ephemeral presence, in bytes. */
const PRESENCE_MAX = 500;
/** The most memory of an empty engine, in bytes: far less than one leaked object for each presence. */
const REMAINS_MAX = 400_000;

type Shape = (index: number) => Partial<PresenceUpdate>;

const locationAt = (page: string, paragraph: string) => canonicalLocation({ page, paragraph });
const numbered = (name: string, index: number) => `${name}-${String(index).padStart(6, '0')}`;

/** Users arrive in no particular order. */
function update(index: number, shape: Shape): PresenceUpdate {
  const userId = numbered('user', (index * 7_919) % COUNT);
  const { location = '{"page":"1"}', region = location, ...rest } = shape(index);
  return {
    ...SCOPE,
    userId,
    incarnation: 1_234_567_890 + index,
    location,
    region,
    now: START,
    expiresAt: START + 30_000 + (index % 30_000),
    ...rest,
  };
}

async function fill(store: PresenceStore, shape: Shape, count = COUNT): Promise<void> {
  // They are stored in their order. Only the last is awaited, because the runner follows every promise that is.
  let last: Promise<unknown> | null = null;
  for (let index = 0; index < count; index += 1) last = store.set(update(index, shape));
  await last;
}

/** Several collections: the test runner releases some objects a tick after a collection. */
async function heapBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass += 1) {
    collectGarbage();
    await nextIteration();
  }
  return process.memoryUsage().heapUsed;
}

const ownLocation: Shape = (index) => ({
  location: locationAt(numbered('page', index), numbered('paragraph', index)),
});
const ownParagraph: Shape = (index) => ({ location: locationAt('1', numbered('paragraph', index)) });

const SHAPES: Readonly<Record<string, Shape>> = {
  'all users at one location': () => ({ location: locationAt('1', '1') }),
  'each user at a location of two pairs': ownLocation,
  'each user at a paragraph of one page, exclusive within the page': (index) => ({
    ...ownParagraph(index),
    region: '{"page":"1"}',
  }),
  'each user at a location, exclusive within a page of its own': (index) => ({
    ...ownLocation(index),
    region: `{"page":"${numbered('page', index)}"}`,
  }),
  'three users at each location': (index) => ownLocation(Math.floor(index / 3)),
  'three paragraphs on each page': (index) => ({
    location: locationAt(numbered('page', Math.floor(index / 3)), numbered('paragraph', index)),
  }),
  'groups of one user': (index) => ({ ...ownLocation(index), groupId: numbered('group', index) }),
  'groups of one user whose pairs were sent in another order': (index) => ({
    location: canonicalLocation({
      paragraph: numbered('paragraph', index),
      page: numbered('page', index),
    }),
    groupId: numbered('group', index),
  }),
  'groups of three users': (index) => ({
    ...ownLocation(index),
    groupId: numbered('group', Math.floor(index / 3)),
  }),
  'groups of twenty-five users': (index) => ({
    ...ownLocation(index),
    groupId: numbered('group', Math.floor(index / 25)),
  }),
};

describe('the memory of one ephemeral presence', () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    test(`an ephemeral presence takes at most 500 bytes with ${name}`, async () => {
      // The code itself takes memory once it has run.
      await fill(createMemoryPresence(), shape, 2_000);
      const before = await heapBytes();
      await using store = closing(createMemoryPresence());
      await fill(store, shape, FEWER);
      const bytes = ((await heapBytes()) - before) / FEWER;
      assert.ok(bytes <= PRESENCE_MAX, `${bytes.toFixed(0)} bytes`);
    });
  }
});

/** The most memory of one user in one group, in bytes. */
const USER_MAX = 300_000;

describe('the memory of one user', () => {
  const users = 20;
  /** 16 pairs and so many bytes of text, in a region of 8 KiB. */
  const manyPairs = (bytes: number, index: number) => {
    const value = 'x'.repeat(Math.floor(bytes / 16) - 15) + numbered('', index).slice(-5);
    const pairs = Array.from({ length: 16 }, (_, key) => `"k${key + 10}":"${value}"`);
    return `{${pairs}}`;
  };
  for (const [what, bytes] of [
    ['of many pairs', limits.EPHEMERAL_LOCATIONS_MAX_BYTES / limits.EPHEMERAL_LOCATIONS_MAX],
    ['of the largest size', limits.LOCATION_MAX_BYTES],
  ] as const) {
    test(`the ephemeral locations of a user take at most 300 KB, with locations ${what}`, async (t) => {
      const shape: Shape = (index) => ({
        userId: numbered('user', index % users),
        location: manyPairs(bytes, index),
        region: `{"region":"${index}${'y'.repeat(8_100)}"}`,
        expiresAt: START + 30_000 + index,
      });
      await fill(createMemoryPresence(), shape, users * 10);
      const before = await heapBytes();
      await using store = closing(createMemoryPresence());
      await fill(store, shape, users * 250);
      const each = ((await heapBytes()) - before) / users;
      t.diagnostic(`${each.toFixed(0)} bytes`);
      assert.ok(each <= USER_MAX, `${each.toFixed(0)} bytes`);
    });
  }
});

/** Users at one location in two regions, and regions that are not locations: everything that the engine can store. */
const everything: Shape = (index) => ({
  userId: numbered('user', Math.floor(index / 2)),
  location: locationAt(`${Math.floor(index / 2) % 3}`, `${(Math.floor(index / 2) * 3) % 50_021}`),
  ...(index % 2 === 0 ? {} : { region: `{"paragraph":"${Math.floor(index / 2)}"}` }),
});

const ENDINGS: Readonly<Record<string, (store: PresenceStore) => Promise<unknown>>> = {
  expired: async (store) => {
    assert.equal((await store.sweep(START + 120_000)).length, COUNT);
  },
  'was cleared': async (store) => {
    for (let index = 0; index < 2 * COUNT; index += 2) await store.clear(update(index, everything));
  },
  'ended with its memberships': (store) =>
    store.removeUsers(
      SCOPE,
      Array.from({ length: COUNT }, (_, index) => numbered('user', index)),
      START,
    ),
  'ended with its group': (store) => store.removeGroup(SCOPE, START),
  'ended with its project': (store) => store.removeProject(SCOPE.project, START),
};

/** A few users stay, so the group stays and its memory shows data that it should have dropped. */
const staying: Shape = (index) => ({ userId: numbered('stays', index), expiresAt: START + 600_000 });

describe('the memory of ended presence', () => {
  for (const [name, end] of Object.entries(ENDINGS)) {
    test(`presence that ${name} leaves nothing in memory`, async () => {
      const store = createMemoryPresence();
      await fill(store, staying, 50);
      await fill(store, everything, 2 * COUNT);
      await end(store);
      const before = await heapBytes();
      await store.close();
      const left = before - (await heapBytes());
      assert.ok(left <= REMAINS_MAX, `${left} bytes`);
    });
  }

  test('groups whose last user has left take no memory', async () => {
    const store = createMemoryPresence();
    const inOwnGroup: Shape = (index) => ({ groupId: numbered('group', index) });
    await fill(store, inOwnGroup);
    for (let index = 0; index < COUNT; index += 1) await store.clear(update(index, inOwnGroup));
    const before = await heapBytes();
    await store.close();
    const left = before - (await heapBytes());
    assert.ok(left <= REMAINS_MAX, `${left} bytes`);
  });
});

test('groups whose last watch has ended take no memory for their events', async () => {
  const store = createMemoryPresence();
  const watcher = { onEvent() {}, onLost() {} };
  for (let index = 0; index < 2_000; index += 1) {
    const scope = { project: 1, groupId: numbered('group', index) };
    (await store.watch(scope, START, watcher)).close();
    const event = { type: 'users', userIds: [numbered('user', index)] } as const;
    for (let count = 0; count < 20; count += 1) await store.publish(scope, event, START);
  }
  await store.sweep(START + WATCH_LEASE_MS);
  const before = await heapBytes();
  await store.close();
  const left = before - (await heapBytes());
  assert.ok(left <= REMAINS_MAX, `${left} bytes`);
});

test('a large group whose users have mostly left takes the memory of the remaining users', async () => {
  // Maps shrink by halves, so each user takes up to a few times as much as in a group that grew.
  const most = 2 * PRESENCE_MAX;
  let bytes = Number.POSITIVE_INFINITY;
  // Memory that the test runner releases meanwhile counts among so few users; it does not each time.
  for (let tries = 0; tries < 3 && bytes > most; tries += 1) bytes = await bytesOfThinnedCrowd();
  assert.ok(bytes <= most, `${bytes.toFixed(0)} bytes each`);
});

async function bytesOfThinnedCrowd(): Promise<number> {
  const store = createMemoryPresence();
  await fill(store, ownParagraph);
  const ids = Array.from({ length: COUNT }, (_, index) => numbered('user', index));
  const gone = ids.filter((_, index) => index % 64 !== 0);
  await store.removeUsers(SCOPE, gone, START);
  const before = await heapBytes();
  await store.close();
  return (before - (await heapBytes())) / (ids.length - gone.length);
}

test('a large group that has become small takes the memory of a small group', async () => {
  const groups = 1_000;
  const grown: Shape = (index) => ({ ...ownLocation(index), groupId: numbered('group', index % groups) });
  const store = createMemoryPresence();
  await fill(store, grown);
  for (let index = 3 * groups; index < COUNT; index += 1) await store.clear(update(index, grown));
  const before = await heapBytes();
  await store.close();
  const bytes = (before - (await heapBytes())) / (3 * groups);
  assert.ok(bytes <= PRESENCE_MAX, `${bytes.toFixed(0)} bytes each`);
});

test('other work of the process continues during a sweep of many presences', async () => {
  const store = createMemoryPresence();
  await fill(store, ownLocation);
  let ticks = 0;
  let isSweeping = true;
  const onTick = () => {
    ticks += 1;
    if (isSweeping) setImmediate(onTick);
  };
  setImmediate(onTick);
  const expiries = await store.sweep(START + 120_000);
  isSweeping = false;
  assert.equal(expiries.length, COUNT);
  assert.ok(ticks >= 100, `only ${ticks} ticks`);
});
