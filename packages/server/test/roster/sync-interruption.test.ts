import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as ticked } from 'node:timers/promises';
import { InterruptedError } from '../../src/cli/interruption.ts';
import { progressDisplay } from '../../src/cli/progress-display.ts';
import type { Submit, Verdict } from '../../src/cli/roster/submit-lines.ts';
import { type SyncSummary, syncRoster } from '../../src/cli/roster/sync-roster.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { counts, jsonLines } from './roster-cli.ts';

/** Syncs a file of 20 lines, with 10 users in a batch, and one request at a time. */
async function sync(
  lines: readonly object[],
  signal: AbortSignal,
  submit: Submit,
  submitConversation: () => Promise<'created'> = async () => assert.fail('no line is about a thread'),
): Promise<SyncSummary> {
  const clock = new MovedClock();
  return syncRoster({
    files: [
      {
        name: 'roster',
        size: null,
        async *read() {
          yield Buffer.from(jsonLines(lines));
        },
      },
    ],
    ...{ submit, submitConversation, interruption: signal, clock },
    ...{ limits: { users: 10, groups: 10, bytes: 10_000 }, concurrency: 1 },
    display: progressDisplay({ write: () => {} }, clock, true),
  });
}

const users = Array.from({ length: 20 }, (_, index) => ({ type: 'user', id: `u${index}` }));
const interrupted = { stopped: 'interrupted by Ctrl-C', interruptedBy: 'SIGINT' };
const outcomeOf = ({ stopped, interruptedBy }: SyncSummary) => ({ stopped, interruptedBy });

test('sync that is interrupted while a batch waits for the one before does not send it', async () => {
  const controller = new AbortController();
  const sent: number[] = [];
  const summary = await sync(users, controller.signal, async (entries) => {
    sent.push(entries.length);
    // The next batch is read meanwhile.
    await ticked();
    controller.abort(new InterruptedError('SIGINT'));
    return { kind: 'applied', changes: { users: counts(entries.length), groups: counts(0) } };
  });
  assert.deepEqual(sent, [10]);
  assert.deepEqual([outcomeOf(summary), summary.users], [interrupted, counts(10)]);
});

test('sync that is interrupted while a batch is rejected sends no parts of it', async () => {
  const controller = new AbortController();
  let requests = 0;
  const rejected: Verdict = { kind: 'rejected', reason: 'invalid_field: no', blamed: [] };
  const summary = await sync(users, controller.signal, async () => {
    requests += 1;
    controller.abort(new InterruptedError('SIGINT'));
    return rejected;
  });
  assert.equal(requests, 1);
  assert.deepEqual([outcomeOf(summary), summary.rejected], [interrupted, 0]);
});

test('sync that is interrupted while a line about a thread waits for the one before does not send it', async () => {
  const controller = new AbortController();
  let requests = 0;
  const threads = users.map(({ id }) => ({ type: 'thread', id, groupID: 'g', name: 'T' }));
  const noBatch = async () => assert.fail('all lines are about threads');
  const summary = await sync(threads, controller.signal, noBatch, async () => {
    requests += 1;
    await ticked();
    controller.abort(new InterruptedError('SIGINT'));
    return 'created';
  });
  assert.equal(requests, 1);
  assert.deepEqual([outcomeOf(summary), summary.threads], [interrupted, counts(1)]);
});
