import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ChangeRetention } from '../../src/core/change-retention.ts';
import { writeContext } from '../../src/core/write-context.ts';
import { withAuth } from '../auth/auth-case.ts';
import { BY_TEST } from '../support/origin.ts';
import { recordsAfter } from '../support/recorded.ts';

const HOUR_MS = 3_600_000;

test('changes are removed within an hour after ROLLCALL_CHANGES_SECONDS, and not before', () =>
  withAuth(async ({ store, clock, project }) => {
    const retention = new ChangeRetention({ store, clock, changesSeconds: 2 * 3_600 });
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
    clock.move(HOUR_MS);
    for (let tick = 0; tick < 100_000 && (await users()).length > 1; tick += 1) await nextIteration();
    assert.deepEqual(await users(), ['third']);
    retention.close();
  }));
