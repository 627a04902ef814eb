import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pino } from 'pino';
import { ChangeFeed } from '../../src/core/changes/change-feed.ts';
import { readPosition } from '../../src/core/changes/change-position.ts';
import { startChangeRetention } from '../../src/core/changes/change-retention.ts';
import type { StoreWrites } from '../../src/core/changes/store-writes.ts';
import { writeContext } from '../../src/core/changes/write-context.ts';
import type { Clock } from '../../src/core/clock.ts';
import { WebhookService } from '../../src/core/webhooks/webhook-service.ts';
import { changePageBody } from '../../src/http/parameters/change-page.ts';
import type { Store } from '../../src/store/store.ts';
import { withAuth } from '../auth/auth-case.ts';
import { BY_TEST } from '../support/origin.ts';
import { recordsAfter } from '../support/recorded.ts';

const HOUR_MS = 3_600_000;

/** Removes the changes before now just before the second read of changes. Returns how many reads there were. */
function removedAtSecondRead(store: Store, clock: Clock): () => number {
  const read = store.changes.read.bind(store.changes);
  let reads = 0;
  store.changes.read = async (...args) => {
    reads += 1;
    if (reads === 2) while (await store.changes.removeBefore(clock.now())) await nextIteration();
    return read(...args);
  };
  return () => reads;
}

test('changes are removed within ten minutes after ROLLCALL_CHANGES_SECONDS, and not before', () =>
  withAuth(async ({ store, clock, project }) => {
    const end = startChangeRetention({
      store,
      clock,
      log: pino({ level: 'silent' }),
      changesSeconds: 2 * 3_600,
    });
    const put = (id: string) => store.users.put(project.key, id, {}, writeContext(clock, BY_TEST));
    const users = async () =>
      (await recordsAfter(store, project.key)).flatMap(({ changes }) =>
        changes.map((change) => ('user' in change ? change.user : '')),
      );
    await put('first');
    clock.move(1);
    await put('second');
    clock.move(2 * HOUR_MS - 1);
    // Writes are done in order, so that the sweep has ended when this has.
    await put('third');
    assert.deepEqual(await users(), ['first', 'second', 'third']);
    clock.move(10 * 60_000);
    for (let tick = 0; tick < 100_000 && (await users()).length > 1; tick += 1) await nextIteration();
    assert.deepEqual(await users(), ['third']);
    end();
  }));

test('a webhook counts the changes that are left where others are removed while it counts', () =>
  withAuth(async ({ store, clock, project }) => {
    const put = (id: string) => store.users.put(project.key, id, {}, writeContext(clock, BY_TEST));
    // More than the first 500 records, which are read at once.
    await Promise.all(Array.from({ length: 600 }, (_, index) => put(`u${index}`)));
    const webhook = { url: 'https://receiver.invalid', secret: 's', start: { position: 0, index: 0 } };
    await store.webhooks.put(project.key, 'w', webhook, 1, writeContext(clock, BY_TEST));
    clock.move(HOUR_MS);
    for (let count = 0; count < 3; count += 1) await put(`later-${count}`);
    const webhooks = new WebhookService({
      ...{ store, clock, changes: new ChangeFeed(store) },
      writes: {} as StoreWrites,
    });
    const found = await webhooks.find(project.key, 'w');
    // After the position of the webhook was found.
    const reads = removedAtSecondRead(store, clock);
    const { behind } = await webhooks.state(project.key, found);
    assert.equal(behind, 3);
    assert.ok(reads() > 2);
  }));

test('a page without after has what was read of it where later changes are removed meanwhile, and the page after it is 410', () =>
  withAuth(async ({ store, clock, project }) => {
    const put = (id: string) => store.users.put(project.key, id, {}, writeContext(clock, BY_TEST));
    await Promise.all(Array.from({ length: 600 }, (_, index) => put(`u${index}`)));
    clock.move(HOUR_MS);
    await put('last');
    // After the first 500 records of the page.
    removedAtSecondRead(store, clock);
    const feed = new ChangeFeed(store);
    const page = async (after: string | null) =>
      JSON.parse(
        await changePageBody(feed, project.key, {
          after: after === null ? null : readPosition(after),
          limit: 10_000,
          filter: {},
        }),
      );
    const { changes, next, more } = await page(null);
    assert.deepEqual([changes.length, next, more], [500, changes.at(-1).id, true]);
    await assert.rejects(page(next), { status: 410 });
    assert.deepEqual(
      (await page(null)).changes.map(({ user }: { user: string }) => user),
      ['last'],
    );
  }));
