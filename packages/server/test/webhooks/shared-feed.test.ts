import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ChangeFeed } from '../../src/core/changes/change-feed.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { DeliveryWriter } from '../../src/webhooks/delivery-writer.ts';

const PROJECT = 'p' as ProjectKey;

test('changes are read for a request while many webhooks of its project search the record', async () => {
  const searches: number[] = [];
  const read = (_project: ProjectKey, after: number) => {
    searches.push(after);
    return new Promise<never>(() => {});
  };
  const feed = new ChangeFeed({ changes: { read } as unknown as Store['changes'] });
  const writer = new DeliveryWriter(feed, { now: () => 0 });
  for (let position = 1; position <= 10; position += 1) {
    const webhook = { project: PROJECT, projectId: 'p', id: `w${position}` };
    void writer.compose(webhook, () => true, { position, index: 0 });
  }
  await nextIteration();
  void feed.chunk(PROJECT, { epoch: 'e', position: 50, index: 0 }, {}, 1);
  assert.deepEqual(searches.slice(-1), [50]);
});
