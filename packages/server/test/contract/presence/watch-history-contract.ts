import assert from 'node:assert/strict';
import { HISTORY_LENGTH, HISTORY_MAX_LENGTH, WATCH_LEASE_MS } from '../../../src/presence/presence-store.ts';
import { at, PAGE_1, PAGE_2, type PresenceScene, type Rule, SCOPE, SITE, START } from './presence-scene.ts';

/** Just before the lease of a watch that began at the start runs out. */
const LEASED = START + WATCH_LEASE_MS - 1;
const FOREVER = START + 100 * WATCH_LEASE_MS;

let steps = 0;

/** Moves of one user, each to a new location: one event each. */
async function move(scene: PresenceScene, count: number, now = START): Promise<void> {
  for (const end = steps + count; steps < end; steps += 1) {
    await scene.set('ann', at({ step: `${steps}` }), { region: SITE, now, until: FOREVER });
  }
}

/** The history of a group's events, and its lifetime. */
export function watchHistoryContract(rule: Rule, crowdRule: Rule): void {
  rule('since returns the events after a position in order, on every handle', async (scene) => {
    const recorder = await scene.watch();
    const elsewhere = await scene.watch({ handle: scene.store });
    await move(scene, 5);
    const events = await recorder.first(5);
    const { epoch, offset } = recorder.watch.position;
    for (let known = 0; known <= 5; known += 1) {
      const after = events.map((event, index) => [offset + 1 + index, event]).slice(known);
      const position = { epoch, offset: offset + known };
      assert.deepEqual(await recorder.watch.since(position), after);
      assert.deepEqual(await elsewhere.watch.since(position), after);
    }
  });

  rule('since also returns events from before the watch', async (scene) => {
    const first = await scene.watch();
    await move(scene, 3);
    first.watch.close();
    await move(scene, 2);
    const second = await scene.watch({ handle: scene.store });
    assert.equal(second.watch.position.epoch, first.watch.position.epoch);
    const since = await second.watch.since(first.watch.position);
    assert.equal(since?.length, 5);
    assert.equal(since?.at(-1)?.[0], second.watch.position.offset);
  });

  rule('since returns null for a position of another epoch, or one not reached yet', async (scene) => {
    const { watch } = await scene.watch();
    const { epoch, offset } = watch.position;
    assert.equal(await watch.since({ epoch: `${epoch}x`, offset }), null);
    assert.equal(await watch.since({ epoch: 'another', offset: 0 }), null);
    assert.equal(await watch.since({ epoch, offset: offset + 1 }), null);
    assert.equal(await watch.since({ epoch, offset: Number.MAX_SAFE_INTEGER }), null);
    assert.deepEqual(await watch.since({ epoch, offset }), []);
  });

  crowdRule('the history has the last events, and no older ones', async (scene) => {
    const recorder = await scene.watch();
    const { epoch, offset } = recorder.watch.position;
    const since = (known: number) => recorder.watch.since({ epoch, offset: offset + known });
    await move(scene, HISTORY_LENGTH);
    assert.equal((await since(0))?.length, HISTORY_LENGTH);
    await move(scene, 3);
    const events = await recorder.first(HISTORY_LENGTH + 3);
    assert.equal(await since(0), null, 'the history no longer has all events');
    // An engine may store a few more, without a gap.
    for (const known of [1, 2, 3]) {
      const stored = await since(known);
      if (known < 3 && stored === null) continue;
      const after = events.map((event, index) => [recorder.offsets[index], event]).slice(known);
      assert.deepEqual(stored, after);
    }
    const checksum = recorder.checksums[2];
    const position = { epoch, offset: offset + 3, ...(checksum !== undefined && { checksum }) };
    assert.equal((await recorder.watch.since(position))?.length, HISTORY_LENGTH, 'nothing was missed');
  });

  rule('the history has fewer events where they are long, and without a gap', async (scene) => {
    const recorder = await scene.watch();
    const { epoch, offset } = recorder.watch.position;
    const text = 'x'.repeat(1_000);
    const pairs = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`k${index}`, text]));
    const long = (step: number) => at({ ...pairs, step: `${step}` });
    // A move names two locations of 8 KB.
    const most = 2 * Math.ceil(HISTORY_MAX_LENGTH / 16_000);
    for (let step = 0; step < most; step += 1) {
      await scene.set('ann', long(step), { region: SITE, until: FOREVER });
    }
    const events = await recorder.first(most);
    assert.equal(await recorder.watch.since({ epoch, offset }), null);
    const last = await recorder.watch.since({ epoch, offset: offset + most - 20 });
    assert.deepEqual(
      last?.map(([, event]) => event),
      events.slice(-20),
    );
  });

  rule('the history has no event from before the group was watched', async (scene) => {
    await move(scene, 3);
    await scene.store.publish(SCOPE, { type: 'group' }, START);
    await scene.store.removeUsers(SCOPE, ['bob'], START);
    const { watch } = await scene.watch();
    const { epoch, offset } = watch.position;
    assert.deepEqual(await watch.since({ epoch, offset }), []);
    if (offset > 0) assert.equal(await watch.since({ epoch, offset: offset - 1 }), null);
  });

  rule('a group is watched until the lease of its last watch runs out, closed or not', async (scene) => {
    const recorder = await scene.watch();
    recorder.watch.close();
    await move(scene, 2, LEASED);
    assert.deepEqual(await scene.store.watchedGroups(SCOPE.project, LEASED), [SCOPE.groupId]);
    const back = await scene.watch({ handle: scene.store, now: LEASED });
    assert.equal((await back.watch.since(recorder.watch.position))?.length, 2);
    back.watch.close();
    const end = LEASED + WATCH_LEASE_MS;
    assert.deepEqual(await scene.other.watchedGroups(SCOPE.project, end - 1), [SCOPE.groupId]);
    assert.deepEqual(await scene.other.watchedGroups(SCOPE.project, end), []);
  });

  rule('a group whose lease ran out continues in another epoch', async (scene) => {
    const { watch } = await scene.watch();
    await move(scene, 2);
    watch.close();
    const anew = await scene.watch({ handle: scene.store, now: LEASED + 1 });
    assert.notEqual(anew.watch.position.epoch, watch.position.epoch);
    assert.equal(await anew.watch.since(watch.position), null);
    await scene.set('ann', PAGE_2, { now: LEASED + 1 });
    await anew.first(1);
    anew.assertOrder();
  });

  rule('the history stays while the lease is renewed', async (scene) => {
    const recorder = await scene.watch();
    let now = START;
    for (let renewal = 0; renewal < 5; renewal += 1) {
      now += WATCH_LEASE_MS - 1;
      await recorder.watch.renew(now);
      await move(scene, 1, now);
      await scene.store.sweep(now);
    }
    await recorder.first(5);
    assert.equal((await recorder.watch.since(recorder.watch.position))?.length, 5);
    assert.deepEqual(await scene.store.watchedGroups(SCOPE.project, now), [SCOPE.groupId]);
  });

  rule('a renewal of any watch keeps the group watched, on whatever handle', async (scene) => {
    const silent = await scene.watch();
    const lively = await scene.watch({ handle: scene.store });
    await lively.watch.renew(LEASED);
    await move(scene, 1, LEASED + 1);
    await silent.first(1);
    assert.equal(silent.isLost, false);
    assert.deepEqual(await scene.other.watchedGroups(SCOPE.project, LEASED + 1), [SCOPE.groupId]);
  });

  rule('a renewal with an earlier time does not shorten the lease', async (scene) => {
    const recorder = await scene.watch();
    await recorder.watch.renew(LEASED);
    await recorder.watch.renew(START);
    const end = LEASED + WATCH_LEASE_MS;
    assert.deepEqual(await scene.store.watchedGroups(SCOPE.project, end - 1), [SCOPE.groupId]);
    await move(scene, 1, end - 1);
    await recorder.first(1);
  });

  rule('a watch whose lease ran out is reported lost by the next change of presence', async (scene) => {
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1, { now: LEASED + 1 });
    await recorder.lost();
    assert.deepEqual(recorder.events, []);
  });

  rule('a watch that was not renewed in time is reported lost', async (scene) => {
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1);
    await recorder.first(1);
    await scene.set('ann', PAGE_2, { now: LEASED + 1 });
    await recorder.watch.renew(LEASED + 1);
    await recorder.lost();
    assert.equal(recorder.events.length, 1);
    recorder.watch.close();
    const anew = await scene.watch({ now: LEASED + 1 });
    await scene.clear('ann', PAGE_2, LEASED + 1);
    await anew.first(1);
    assert.equal(recorder.events.length, 1, 'nothing more comes');
  });
}
