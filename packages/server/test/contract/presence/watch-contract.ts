import assert from 'node:assert/strict';
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
} from './presence-scene.ts';
import type { WatchRecorder } from './watch-recorder.ts';

const USERS = Array.from({ length: 20 }, (_, index) => `u${index + 10}`);
const page = (number: number) => at({ page: `${number}` });

/** Racing changes of each kind, on both handles. Returns the number of their events. */
async function stir(scene: PresenceScene, rounds: number): Promise<number> {
  const handles = [scene.store, scene.other];
  const changes: Promise<unknown>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, userId] of USERS.entries()) {
      const store = handles[(round + index) % 2] as typeof scene.store;
      const update = {
        ...SCOPE,
        userId,
        incarnation: INCARNATION,
        region: SITE,
        location: page(round),
        now: START,
      };
      changes.push(store.set({ ...update, expiresAt: START + TTL }));
    }
  }
  await Promise.all(changes);
  return changes.length;
}

/** All watchers of a group get its events in one order. */
export function watchContract(rule: Rule): void {
  rule('a watch begins at a position, and the first event has the next offset', async (scene) => {
    const first = await scene.watch();
    assert.match(first.watch.position.epoch, /^[A-Za-z0-9_]{1,64}$/);
    assert.ok(Number.isSafeInteger(first.watch.position.offset) && first.watch.position.offset >= 0);
    await scene.set('ann', PAGE_1);
    await first.first(1);
    const second = await scene.watch();
    const { epoch, offset } = second.watch.position;
    assert.equal(epoch, first.watch.position.epoch);
    assert.equal(offset, first.watch.position.offset + 1);
    await scene.set('ann', PAGE_2);
    await first.first(2);
    await second.first(1);
    assert.deepEqual(second.offsets, first.offsets.slice(1));
    for (const recorder of [first, second]) recorder.assertOrder();
  });

  rule(
    'all watchers receive the same events in the same order without a gap, on every handle',
    async (scene) => {
      const recorders = [
        await scene.watch({ handle: scene.store }),
        await scene.watch({ handle: scene.other }),
        await scene.watch({ handle: scene.other }),
      ];
      const count = await stir(scene, 15);
      const received = await Promise.all(recorders.map((recorder) => recorder.first(count)));
      for (const recorder of recorders) recorder.assertOrder();
      assert.deepEqual(received[1], received[0]);
      assert.deepEqual(received[2], received[0]);
    },
  );

  rule(
    'a chain of moves is a chain of events, in which each left location was reached before',
    async (scene) => {
      const recorder = await scene.watch();
      const events = await recorder.first(await stir(scene, 15));
      const locations = new Map<string, string>();
      for (const event of events) {
        assert.ok(event.type === 'arrived');
        assert.equal(event.from, locations.get(event.userId) ?? null);
        locations.set(event.userId, event.location);
      }
      for (const userId of USERS) {
        assert.deepEqual(await scene.locationsOf(userId), [locations.get(userId)]);
      }
    },
  );

  rule('a watch that begins during updates receives every event after its position', async (scene) => {
    const from = await scene.watch();
    const stirring = stir(scene, 10);
    const late: WatchRecorder[] = [];
    for (let index = 0; index < 6; index += 1) {
      late.push(await scene.watch({ handle: index % 2 === 0 ? scene.store : scene.other }));
    }
    const all = await from.first(await stirring);
    for (const recorder of late) {
      const missed = recorder.watch.position.offset - from.watch.position.offset;
      assert.deepEqual(await recorder.first(all.length - missed), all.slice(missed));
      recorder.assertOrder();
    }
  });

  rule('a closed watch receives no more events, and the other watches do', async (scene) => {
    const closed = await scene.watch();
    const open = await scene.watch();
    await scene.set('ann', PAGE_1);
    await closed.first(1);
    closed.watch.close();
    closed.watch.close();
    await scene.set('ann', PAGE_2);
    await open.first(2);
    assert.equal(closed.events.length, 1);
    assert.equal(closed.isLost, false);
  });

  rule('a watcher may close its watch inside its own call, and that of another', async (scene) => {
    const early = await scene.watch({ onEvent: () => early.watch.close() });
    const middle = await scene.watch({ onEvent: () => late.watch.close() });
    const late: WatchRecorder = await scene.watch();
    await stir(scene, 2);
    await middle.first(2 * USERS.length);
    middle.assertOrder();
    assert.equal(early.events.length, 1);
    assert.ok(late.events.length <= 1, 'none after the call in which it was closed');
  });

  rule('a watcher may change presence and watch inside its own call', async (scene) => {
    const opening: Promise<WatchRecorder>[] = [];
    const nosy = await scene.watch({
      handle: scene.store,
      onEvent: () => {
        if (opening.length > 0) return;
        void scene.set('bob', PAGE_2);
        opening.push(scene.watch({ handle: scene.store }));
      },
    });
    const other = await scene.watch();
    await scene.set('ann', PAGE_1);
    const received = await other.first(2);
    assert.deepEqual(await nosy.first(2), received);
    const [opened] = (await Promise.all(opening)) as [WatchRecorder];
    await scene.set('cid', PAGE_1);
    const last = (await nosy.first(3)).at(-1);
    const position = opened.watch.position.offset - nosy.watch.position.offset;
    assert.deepEqual(await opened.first(3 - position), [...received, last].slice(position));
    for (const recorder of [nosy, other, opened]) recorder.assertOrder();
  });

  rule('watchedGroups lists each watched group of the project once, on any handle', async (scene) => {
    const listed = async (project = SCOPE.project) =>
      (await scene.store.watchedGroups(project, START)).sort();
    assert.deepEqual(await listed(), []);
    await scene.set('ann', PAGE_1, { groupId: 'unwatched' });
    for (const groupId of ['one', 'a:b{c}', 'one']) {
      await scene.watch({ groupId });
      await scene.watch({ groupId, handle: scene.store });
    }
    await scene.watch({ project: 7, groupId: 'seven' });
    assert.deepEqual(await listed(), ['a:b{c}', 'one']);
    assert.deepEqual(await scene.other.watchedGroups(7, START), ['seven']);
    assert.deepEqual(await scene.store.watchedGroups('nowhere', START), []);
  });
}
