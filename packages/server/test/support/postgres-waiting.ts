import { withClient } from './postgres.ts';
import { until } from './waiting.ts';

const WAITING = `
  SELECT count(*)::int FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND query_start < clock_timestamp() - $1 * interval '1 ms'`;

/** Resolves when so many transactions of the database wait for a lock, each for so long at least. */
export async function untilWaiting(url: string, count: number, forMs = 0): Promise<void> {
  await withClient(url, (client) =>
    until(`the wait of ${count} transactions for a lock`, async () => {
      return (await client.query(WAITING, [forMs])).rows[0].count >= count;
    }),
  );
}
