/** Operations on PostgreSQL and Redis, each beside what the same servers give a bare client for the same rows. */
import type { BareTarget } from './bare-calls.ts';
import type { BarePlan } from './bare-client.ts';
import type { BarePresenceOptions } from './bare-presence-server.ts';
import {
  type Dataset,
  fill,
  groupId,
  groupMembers,
  largeGroupId,
  largeGroupMembers,
  PAGE_SIZE,
  SMALL,
} from './dataset.ts';
import { CONNECTIONS, type Pace } from './measure.ts';
import {
  type PresencePosition,
  presenceRefreshes,
  presenceRequest,
  presencesRequest,
  requestsOf,
} from './operations.ts';
import { type Child, type Load, load, runBare, startServer } from './processes.ts';
import { median, print, table, two, verdict, whole } from './report.ts';
import { projectKey, type ScaleOutServers, statements } from './scale-out-servers.ts';

/** An operation over HTTP, what its rows cost a bare client, and the share of that it must reach, if any. */
interface Comparison {
  readonly name: string;
  readonly what: BareTarget['what'];
  readonly target: number | null;
  requests(token: string): string[];
  /** How many calls of the bare client a request stands for; default 1. */
  readonly updates?: number;
  /** A bare HTTP server that makes the same calls is measured too: the limit for any server. */
  readonly hasLimit?: true;
}

/** Eligibility is cached for a second: so long it takes until all is cached that is going to be. */
const WARM_UP_SECONDS = 2;
/** As many steps as Rollcall sends in one call. */
const MOST_TOGETHER = 16;
/** So many members of groups that a pair of user and group comes back only after some seconds: none of them is cached. */
const CROWD: Dataset = { users: 1_000, groups: 0, groupSize: 0, largeGroups: 500 };

const REFRESH: Comparison = {
  name: 'PUT presence (refresh)',
  what: 'evalsha',
  target: 0.36,
  requests: (token) => presenceRefreshes(SMALL, token),
};
const COMPARISONS: readonly Comparison[] = [
  { name: 'GET group', what: 'select', target: 0.5, requests: (token) => requestsOf('GET group', token) },
  {
    name: 'PUT group name',
    what: 'update',
    target: 0.5,
    requests: (token) => requestsOf('PUT group name', token),
  },
  {
    name: 'PUT presence, durable',
    what: 'durable',
    target: 0.5,
    requests: (token) => requestsOf('PUT presence, durable', token),
    hasLimit: true,
  },
  REFRESH,
  {
    name: 'PUT presence (mixed)',
    what: 'evalsha',
    target: null,
    requests: (token) => requestsOf('PUT presence', token),
  },
  {
    name: 'PUT presence (each seldom)',
    what: 'evalsha',
    target: null,
    requests: (token) => crowds().flatMap((crowd) => crowd.map((member) => presenceRequest(token, member))),
  },
  {
    name: `PUT presences (${PAGE_SIZE} each): updates`,
    what: 'evalsha',
    target: null,
    requests: (token) => crowds().map((crowd) => presencesRequest(token, crowd)),
    updates: PAGE_SIZE,
  },
  {
    name: 'POST members (add and remove)',
    what: 'members',
    target: 0.5,
    requests: (token) => requestsOf('POST members (add and remove)', token),
    hasLimit: true,
  },
];

/** The members of each large group, all at one paragraph. */
const crowds = (): PresencePosition[][] =>
  Array.from({ length: CROWD.largeGroups }, (_, index) =>
    largeGroupMembers(CROWD, index).map((user) => ({
      user,
      group: largeGroupId(index),
      page: 0,
      paragraph: 0,
    })),
  );

/** The inputs of the comparisons. */
interface Setting {
  readonly pace: Pace;
  readonly token: string;
  /** The store's key of the project. */
  readonly project: string;
  readonly servers: ScaleOutServers;
}

const COLUMNS = ['operation', 'requests/s', 'p99 ms', 'bare client/s', 'ratio', 'target', ''];

/** Fills the server, and measures the operations whose name contains the text. */
export async function scaleOutOperations(
  pace: Pace,
  { only }: { readonly only: string },
  token: string,
  { server, servers }: { readonly server: Child; readonly servers: ScaleOutServers },
): Promise<void> {
  await fill(server, token, SMALL);
  await fill(server, token, CROWD);
  const setting = { pace, token, project: await projectKey(servers.urls.databaseUrl), servers };
  const comparisons = COMPARISONS.filter(({ name }) => name.includes(only));
  if (comparisons.length === 0) return;
  print('### Operations on PostgreSQL and Redis beside a bare client of both');
  print();
  const rows: string[][] = [];
  for (const comparison of comparisons) {
    const limit = comparison.hasLimit ? await startLimit(setting, comparison) : null;
    const measured = [
      { name: comparison.name, port: server.port },
      ...(limit === null ? [] : [{ name: 'limit: a bare HTTP server with the call', port: limit.port }]),
    ];
    const [result, ...limits] = (await besideBareClient(setting, comparison, measured)) as [
      Result,
      ...Result[],
    ];
    await limit?.stop();
    const perStatement = await requestsPerStatement(setting, comparison, server);
    rows.push([...row(comparison, result), two(perStatement)]);
    for (const each of limits)
      rows.push([...row({ ...comparison, name: each.name, target: null }, each), '']);
  }
  table([...COLUMNS, 'requests per SQL statement'], rows);
  // POST members has replaced members whose presence is set next.
  await fill(server, token, SMALL);
  if (REFRESH.name.includes(only)) await leastPresence(setting, server);
}

/** The rate of PUT presence in servers that do nothing else: the limit for any server. */
async function leastPresence(setting: Setting, server: Child): Promise<void> {
  print('### PUT presence (refresh) beside bare HTTP servers that only call the script');
  print();
  const { redisUrl } = setting.servers.urls;
  const bare = (mostTogether: number) => {
    const options: BarePresenceOptions = { redisUrl, project: 'bare', mostTogether };
    return startServer('bare-presence-server.ts', JSON.stringify(options));
  };
  await using alone = await bare(1);
  await using together = await bare(MOST_TOGETHER);
  const measured = [
    { name: 'a bare HTTP server, a call for each request', port: alone.port },
    { name: `a bare HTTP server, a call for up to ${MOST_TOGETHER}`, port: together.port },
    { name: 'Rollcall', port: server.port },
  ];
  const results = await besideBareClient(setting, REFRESH, measured);
  table(
    ['server', ...COLUMNS.slice(1, 5)],
    results.map((result) => row({ ...REFRESH, name: result.name }, result).slice(0, 5)),
  );
}

const startLimit = ({ project, servers }: Setting, { what }: Comparison): Promise<Child> =>
  startServer(
    'bare-write-server.ts',
    JSON.stringify({ ...targetOf(what, project, servers), users: ['limit-1', 'limit-2'] }),
  );

/** The groups of the small dataset, and a member of each. */
function targetOf(what: BareTarget['what'], project: string, { urls }: ScaleOutServers): BareTarget {
  const groups = Array.from({ length: SMALL.groups }, (_, index) => groupId(index));
  const members = groups.map((_, index) => groupMembers(SMALL, index)[0] as string);
  return { what, ...urls, project, groups, members, users: ['bare-1', 'bare-2'] };
}

interface Result {
  readonly name: string;
  readonly bare: number;
  readonly ours: number;
  readonly p99: number;
  readonly ratio: number;
}

function row({ name, what, target }: Comparison, { ours, p99, bare, ratio }: Result): string[] {
  return [
    ...[name, whole(ours), two(p99), `${what} ${whole(bare)}`, two(ratio)],
    ...(target === null ? ['', ''] : [`≥ ${two(target)}`, verdict(ratio >= target)]),
  ];
}

/** Loads servers alternately, each round beside a bare client's: medians over the rounds, of the ratios too. */
async function besideBareClient(
  { pace: { rounds, seconds }, token, project, servers }: Setting,
  { what, requests: requestsFor, updates = 1 }: Comparison,
  measured: readonly { readonly name: string; readonly port: number }[],
): Promise<Result[]> {
  const bare: BarePlan = { ...targetOf(what, project, servers), callers: CONNECTIONS, seconds };
  const requests = requestsFor(token);
  const results = measured.map(({ name }) => ({ name, rounds: [] as Omit<Result, 'name'>[] }));
  for (let round = -1; round < rounds; round += 1) {
    const { requestsPerSecond: alone } = await runBare<BarePlan>('bare-client.ts', bare);
    for (const [index, { name, port }] of measured.entries()) {
      const { requestsPerSecond, p99 } = await load(name, planFor({ port, seconds, requests }));
      const ours = requestsPerSecond * updates;
      if (round >= 0) results[index]?.rounds.push({ bare: alone, ours, p99, ratio: ours / alone });
    }
  }
  return results.map(({ name, rounds: each }) => {
    const of = (column: keyof Omit<Result, 'name'>) => median(each.map((round) => round[column]));
    return { name, bare: of('bare'), ours: of('ours'), p99: of('p99'), ratio: of('ratio') };
  });
}

async function requestsPerStatement(
  { pace: { seconds }, token, servers }: Setting,
  { name, requests }: Comparison,
  { port }: Child,
): Promise<number> {
  const before = await statements(servers.urls.databaseUrl);
  // Requests that fill the cache count too.
  const plan = planFor({ port, seconds: seconds + WARM_UP_SECONDS, requests: requests(token) });
  const { requestsPerSecond } = await load(name, { ...plan, warmUpSeconds: 0 });
  return (requestsPerSecond * plan.seconds) / ((await statements(servers.urls.databaseUrl)) - before);
}

const planFor = (what: Pick<Load, 'port' | 'seconds' | 'requests'>): Load => ({
  ...what,
  connections: CONNECTIONS,
  warmUpSeconds: WARM_UP_SECONDS,
  awake: false,
});
