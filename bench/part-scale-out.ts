import { projectToken } from './credentials.ts';
import type { Pace } from './measure.ts';
import { OPERATIONS } from './operations.ts';
import { operationsTables, type Selection } from './operations-tables.ts';
import { othersMeanwhile } from './part-batch.ts';
import { startRollcall } from './processes.ts';
import { print } from './report.ts';
import { scaleOutBatch } from './scale-out-batch.ts';
import { scaleOutOperations } from './scale-out-operations.ts';
import { hasServers, makeServers } from './scale-out-servers.ts';

/** The scale-out engine, beside a bare HTTP server, and beside what the same PostgreSQL and Redis give a bare client. */
export async function scaleOutPart(pace: Pace, selection: Selection): Promise<void> {
  if (!(await hasServers('PostgreSQL and Redis'))) return;
  await using made = new AsyncDisposableStack();
  const make = async () => made.use(await makeServers());
  if (OPERATIONS.some(({ name }) => name.includes(selection.only))) {
    print('### Operations on PostgreSQL and Redis, one process on one core, 32 connections');
    print();
    await operationsTables(pace, {
      ...selection,
      ...{ engine: async () => (await make()).urls, isEmbedded: false },
    });
  }
  const servers = await make();
  await using server = await startRollcall(servers.urls);
  const token = await projectToken();
  await scaleOutOperations(pace, selection, token, { server, servers });
  if ('batch'.includes(selection.only)) {
    await scaleOutBatch(token, server, servers);
    await othersMeanwhile(pace, server, token, false);
  }
}
