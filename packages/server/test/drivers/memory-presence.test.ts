import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { inScene, PAGE_1, PAGE_2, START, TTL } from '../contract/presence/presence-scene.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';

const makeStores = async () => {
  const store = createMemoryPresence();
  return [store, store] as const;
};

presenceStoreContract('memory', makeStores);

test(
  'a presence in memory ends after its time to live also where the clock is set back meanwhile',
  inScene(makeStores, async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1, { connection: 'b', lease: 'process' });
    await scene.set('ann', PAGE_1, { now: START + 1_000 });
    await scene.swept(START + 1_000);
    for (const now of [START - 10_000, START - 3_600_000]) {
      // Before a sweep finds that the clock was set.
      await scene.set('cid', PAGE_2, { now, until: now + 2_000 });
      assert.deepEqual(await scene.swept(now), []);
      assert.deepEqual(await scene.ids({ now: now + 1_999 }), ['ann', 'bob', 'cid']);
      assert.deepEqual(await scene.ids({ now: now + 2_000 }), ['ann', 'bob']);
      assert.deepEqual(await scene.ids({ now: now + TTL }), []);
    }
    const ended = await scene.swept(START - 3_600_000 + TTL);
    assert.deepEqual(ended.sort(), [`ann ${PAGE_1}`, `bob ${PAGE_1}`, `cid ${PAGE_2}`]);
  }),
);
