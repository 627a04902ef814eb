import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { limits } from '@rollcall/protocol';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import {
  type PresenceStore,
  type PresenceUpdate,
  WATCH_LEASE_MS,
} from '../../src/presence/presence-store.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const COUNT = 50_000;
const START = 1_900_000_000_000;
const SCOPE = { project: 1, groupId: 'group' };
/** What one ephemeral presence may take, in bytes. */
const PRESENCE_MAX = 500;
/** What an engine in which nothing is may hold on to, in bytes: far less than one leaked object for each of them. */
const REMAINS_MAX = 400_000;

type Shape = (index: number) => Partial<PresenceUpdate>;

const place = (page: string, paragraph: string) => `{"page":"${page}","paragraph":"${paragraph}"}`;
const numbered = (name: string, index: number) => `${name}-${String(index).padStart(6, '0')}`;

/** Users arrive in no order of their IDs. */
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
  for (let index = 0; index < count; index += 1) await store.set(update(index, shape));
}

/** What is freed by one collection may be forgotten by the test runner a turn later, which frees more. */
async function heapBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass += 1) {
    collectGarbage();
    await nextTurn();
  }
  return process.memoryUsage().heapUsed;
}

const ownPlace: Shape = (index) => ({
  location: place(numbered('page', index), numbered('paragraph', index)),
});
const ownParagraph: Shape = (index) => ({ location: place('1', numbered('paragraph', index)) });

const SHAPES: Readonly<Record<string, Shape>> = {
  'everybody at one place': () => ({ location: place('1', '1') }),
  'everybody at their own place of two pairs': ownPlace,
  'everybody at their own paragraph of one page, exclusive within the page': (index) => ({
    ...ownParagraph(index),
    region: '{"page":"1"}',
  }),
  'everybody at their own place, exclusive within their own page': (index) => ({
    ...ownPlace(index),
    region: `{"page":"${numbered('page', index)}"}`,
  }),
  'three at each place': (index) => ownPlace(Math.floor(index / 3)),
  'three paragraphs to a page': (index) => ({
    location: place(numbered('page', Math.floor(index / 3)), numbered('paragraph', index)),
  }),
  'groups of one': (index) => ({ ...ownPlace(index), groupId: numbered('group', index) }),
  'groups of three': (index) => ({ ...ownPlace(index), groupId: numbered('group', Math.floor(index / 3)) }),
  'groups of twenty-five': (index) => ({
    ...ownPlace(index),
    groupId: numbered('group', Math.floor(index / 25)),
  }),
};

describe('one ephemeral presence takes at most 500 bytes', () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    test(name, async () => {
      // What the code itself takes once it has run is not the presence's.
      await fill(createMemoryPresence(), shape, 2_000);
      const before = await heapBytes();
      const store = createMemoryPresence();
      await fill(store, shape);
      const bytes = ((await heapBytes()) - before) / COUNT;
      assert.ok(bytes <= PRESENCE_MAX, `${bytes.toFixed(0)} bytes`);
      await store.close();
    });
  }
});

/** What one user in one group may take at most, in bytes. */
const USER_MAX = 300_000;

describe('one user takes a bounded amount, whatever they send', () => {
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
    test(`locations ${what}`, async (t) => {
      const shape: Shape = (index) => ({
        userId: numbered('user', index % users),
        location: manyPairs(bytes, index),
        region: `{"region":"${index}${'y'.repeat(8_100)}"}`,
        expiresAt: START + 30_000 + index,
      });
      await fill(createMemoryPresence(), shape, users * 10);
      const before = await heapBytes();
      const store = createMemoryPresence();
      await fill(store, shape, users * 250);
      const each = ((await heapBytes()) - before) / users;
      t.diagnostic(`${each.toFixed(0)} bytes`);
      assert.ok(each <= USER_MAX, `${each.toFixed(0)} bytes`);
      await store.close();
    });
  }
});

/** Users at one place more than once, and regions that are no places: whatever the engine keeps, it keeps here. */
const everything: Shape = (index) => ({
  userId: numbered('user', Math.floor(index / 2)),
  location: place(`${Math.floor(index / 2) % 3}`, `${(Math.floor(index / 2) * 3) % 50_021}`),
  ...(index % 2 === 0 ? {} : { region: `{"paragraph":"${Math.floor(index / 2)}"}` }),
});

const ENDINGS: Readonly<Record<string, (store: PresenceStore) => Promise<unknown>>> = {
  'by its deadline': async (store) => {
    assert.equal((await store.sweep(START + 120_000)).length, COUNT);
  },
  'by absence': async (store) => {
    for (let index = 0; index < 2 * COUNT; index += 2) await store.clear(update(index, everything));
  },
  'with its users': (store) =>
    store.removeUsers(
      SCOPE,
      Array.from({ length: COUNT }, (_, index) => numbered('user', index)),
      START,
    ),
  'with its group': (store) => store.removeGroup(SCOPE, START),
  'with its project': (store) => store.removeProject(SCOPE.project, START),
};

/** A few who stay, so that the group does, with whatever it should have dropped. */
const staying: Shape = (index) => ({ userId: numbered('stays', index), expiresAt: START + 600_000 });

describe('nothing is kept of what has ended', () => {
  for (const [name, end] of Object.entries(ENDINGS)) {
    test(name, async () => {
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

  test('groups that were left by everybody are forgotten', async () => {
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

test('groups that nobody watches any more are forgotten, with their events', async () => {
  const store = createMemoryPresence();
  const watcher = { onEvent() {}, onLost() {} };
  for (let index = 0; index < 2_000; index += 1) {
    const scope = { project: 1, groupId: numbered('group', index) };
    (await store.watch(scope, START, watcher)).close();
    const told = { type: 'users', userIds: [numbered('user', index)], active: true } as const;
    for (let event = 0; event < 20; event += 1) await store.tell(scope, told, START);
  }
  await store.sweep(START + WATCH_LEASE_MS);
  const before = await heapBytes();
  await store.close();
  const left = before - (await heapBytes());
  assert.ok(left <= REMAINS_MAX, `${left} bytes`);
});

test('a crowd that has thinned out takes the room of those who are left', async () => {
  const tries = [await bytesOfThinnedCrowd(), await bytesOfThinnedCrowd(), await bytesOfThinnedCrowd()];
  // Of so few, what the test runner lets go of meanwhile is a good part; it does not every time.
  const bytes = Math.min(...tries);
  // The engine's maps give room back by halves, so up to a few times as much as in a crowd that grew.
  assert.ok(bytes <= 2 * PRESENCE_MAX, `${bytes.toFixed(0)} bytes each`);
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

test('a group of many that has become one of few is kept as such', async () => {
  const groups = 1_000;
  const grown: Shape = (index) => ({ ...ownPlace(index), groupId: numbered('group', index % groups) });
  const store = createMemoryPresence();
  await fill(store, grown);
  for (let index = 3 * groups; index < COUNT; index += 1) await store.clear(update(index, grown));
  const before = await heapBytes();
  await store.close();
  const bytes = (before - (await heapBytes())) / (3 * groups);
  assert.ok(bytes <= PRESENCE_MAX, `${bytes.toFixed(0)} bytes each`);
});

test('a sweep of a crowd lets others have their turn', async () => {
  const store = createMemoryPresence();
  await fill(store, ownPlace);
  let turns = 0;
  let isSweeping = true;
  const takeTurn = () => {
    turns += 1;
    if (isSweeping) setImmediate(takeTurn);
  };
  setImmediate(takeTurn);
  const expiries = await store.sweep(START + 120_000);
  isSweeping = false;
  assert.equal(expiries.length, COUNT);
  assert.ok(turns >= 100, `only ${turns} turns`);
});
