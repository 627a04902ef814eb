/** The largest batch on PostgreSQL, beside a COPY of its rows. */
import { openPostgresStore } from '../packages/server/src/store/postgres/postgres-store.ts';
import { batchTable, measureBatches } from './part-batch.ts';
import { type Child, runAlone } from './processes.ts';
import { print } from './report.ts';
import type { ScaleOutServers } from './scale-out-servers.ts';

const ROUNDS = 3;

export async function scaleOutBatch(token: string, server: Child, servers: ScaleOutServers): Promise<void> {
  print('### A batch of 10,000 users and 1,000 groups of 100 members on PostgreSQL');
  print();
  const times = await measureBatches(ROUNDS, server, token, async (file) => {
    const url = await servers.freshDatabase();
    // Opening the store makes its tables.
    await (await openPostgresStore({ url })).close();
    return runAlone<{ milliseconds: number }>('bare-copy.ts', url, file).milliseconds;
  });
  batchTable('COPY of the same rows', times);
}
