import type { Pace } from './measure.ts';
import { runBeside, startRollcall } from './processes.ts';
import { atMost, figure, figures, print, two, verdict, whole } from './report.ts';
import { hasServers, makeServers } from './scale-out-servers.ts';
import type { HeldPlan, HeldResult } from './socket-held-load.ts';
import { fill, pages } from './socket-pages.ts';

const SOCKETS = 1_000;
const LOCATIONS_EACH = 100;
const GROUPS = 100;
const SECONDS = 30;
/** The default of the setting: what is held is renewed in time for it. */
const PRESENCE_TTL_SECONDS = 30;

const TARGET_REDIS = 0.1;

/** What it costs Redis that sockets hold locations while nothing happens. */
export async function heldOnRedis(_pace: Pace, token: string): Promise<void> {
  const count = SOCKETS * LOCATIONS_EACH;
  print(`### Socket: ${whole(SOCKETS)} sockets hold ${whole(count)} locations on PostgreSQL and Redis`);
  print();
  if (!(await hasServers('Held locations'))) return;
  await using servers = await makeServers();
  await using server = await startRollcall({ ...servers.urls, presenceTtlSeconds: PRESENCE_TTL_SECONDS });
  const holders = pages(SOCKETS, GROUPS, 'holder');
  await fill(server, token, holders);
  const { redisShare, processorShare, held } = await runBeside<HeldPlan, HeldResult>('socket-held-load.ts', {
    ...{ port: server.port, serverPid: server.pid, pages: holders },
    ...{ locationsEach: LOCATIONS_EACH, seconds: SECONDS },
  });
  figures([
    [`locations held after ${SECONDS} s`, whole(held), whole(count), verdict(held === count)],
    atMost('Redis: share of a core', redisShare, TARGET_REDIS, two),
    figure('server: share of a core', two(processorShare)),
  ]);
}
