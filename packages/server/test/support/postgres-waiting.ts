import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { withClient } from './postgres.ts';

const LIMIT_MS = 20_000;
const ACTIVITY = 'SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND';

/** Resolves when so many transactions of the database wait for a lock, each for so long at least. */
export const untilWaiting = (url: string, count: number, forMs = 0): Promise<void> =>
  untilSeen(
    url,
    count,
    `wait_event_type = 'Lock' AND query_start < clock_timestamp() - interval '${forMs} ms'`,
  );

/** Resolves when the condition on `pg_stat_activity` holds for so many connections to the database. */
export async function untilSeen(url: string, count: number, condition: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  await withClient(url, async (client) => {
    while ((await client.query(`${ACTIVITY} ${condition}`)).rows[0].count < count) {
      assert.ok(performance.now() < deadline, `${count} with ${condition}`);
      await delay(10);
    }
  });
}
