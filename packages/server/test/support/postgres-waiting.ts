import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { withClient } from './postgres.ts';

const LIMIT_MS = 20_000;
const WAITING = `SELECT count(*)::int FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Resolves when so many transactions of the database wait for a lock. */
export async function untilWaiting(url: string, count: number): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  await withClient(url, async (client) => {
    while ((await client.query(WAITING)).rows[0].count < count) {
      assert.ok(performance.now() < deadline, `${count} wait`);
      await delay(10);
    }
  });
}
