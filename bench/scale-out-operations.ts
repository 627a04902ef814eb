/** Operations on PostgreSQL and Redis, each beside what the same servers give a bare client for the same rows. */
import type { BarePlan } from './bare-client.ts';
import type { BarePresenceOptions } from './bare-presence-server.ts';
import { PROJECT } from './credentials.ts';
import {
  type Dataset,
  fill,
  largeGroupId,
  largeGroupMembers,
  SMALL,
  smallGroupId,
  smallGroupMembers,
} from './dataset.ts';
import type { LoadPlan } from './load.ts';
import { CONNECTIONS, type Pace } from './measure.ts';
import { OPERATIONS, presenceRequest, presencesRequest, type Place as UserPlace } from './operations.ts';
import { type Child, load, runBare, startServer } from './processes.ts';
import { median, say, table, two, verdict, whole } from './report.ts';
import { asked, type Place, statements } from './scale-out-place.ts';

/** An operation over HTTP, what its rows cost a bare client, and the share of that it must reach, if any. */
interface Comparison {
  readonly name: string;
  readonly what: BarePlan['what'];
  readonly target: number | null;
  /** Default: those of the operation of this name. */
  readonly requests?: (token: string) => string[];
  /** How many calls of the bare client a request stands for; default 1. */
  readonly updates?: number;
}

/** Who may be present is remembered for a second: so long it takes until all are who are going to be. */
const WARM_UP_SECONDS = 2;

/** A gateway refreshes so many users in one request. */
const TOGETHER = 100;

const COMPARISONS: readonly Comparison[] = [
  { name: 'GET group (10 members)', what: 'select', target: 0.5 },
  { name: 'PUT group name (durable)', what: 'update', target: 0.5 },
  { name: 'PUT presence (refresh)', what: 'evalsha', target: 0.4 },
  { name: 'PUT presence (move)', what: 'evalsha', target: null },
  { name: 'PUT presence (each seldom)', what: 'evalsha', target: null, requests: seldomRequests },
  {
    name: `PUT presences (${TOGETHER} each): updates`,
    what: 'evalsha',
    target: null,
    requests: togetherRequests,
    updates: TOGETHER,
  },
];
/** So many members of groups that each comes again after some seconds: none is remembered to be one. */
const CROWD: Dataset = { users: 1_000, smallGroups: 0, largeGroups: 500 };
/** As many steps as Rollcall sends in one call. */
const MOST_TOGETHER = 16;

/** Fills the server and measures. */
export async function scaleOutOperations(
  pace: Pace,
  token: string,
  server: Child,
  place: Place,
): Promise<void> {
  await fill(server.port, token, SMALL);
  await fill(server.port, token, CROWD);
  const [[project]] = (await asked(
    place.urls.databaseUrl,
    'SELECT project_id FROM projects WHERE id = $1',
    PROJECT.id,
  )) as [[string]];
  const rows: string[][] = [];
  for (const comparison of COMPARISONS) {
    const { name, target, requests: requestsOf = requestsOfOperation(name) } = comparison;
    const requests = requestsOf(token);
    const ours = { name, port: server.port };
    const results = await besideBareClient(pace, comparison, { requests, project, place }, [ours]);
    const perStatement = await requestsPerStatement(pace, ours, requests, place);
    rows.push(row(comparison, results[0] as Result, target, two(perStatement)));
  }
  table(OPERATION_COLUMNS, rows);
  await leastPresence(pace, token, server, project, place);
}

const OPERATION_COLUMNS = [
  'operation',
  'requests/s',
  'p99 ms',
  'bare client/s',
  'ratio',
  'target',
  '',
  'requests per SQL statement',
];

/** What PUT presence comes to in servers that do nothing else: how far from the target any server must be. */
async function leastPresence(
  pace: Pace,
  token: string,
  server: Child,
  project: string,
  place: Place,
): Promise<void> {
  say('### PUT presence (refresh) beside bare HTTP servers that only call the script');
  say();
  const name = 'PUT presence (refresh)';
  const comparison = COMPARISONS.find((candidate) => candidate.name === name) as Comparison;
  const bare = (mostTogether: number) => {
    const options: BarePresenceOptions = { redisUrl: place.urls.redisUrl, project: 'bare', mostTogether };
    return startServer('bare-presence-server.ts', JSON.stringify(options));
  };
  const [alone, together] = [await bare(1), await bare(MOST_TOGETHER)];
  const servers = [
    { name: 'a bare HTTP server, a call for each request', port: alone.port },
    { name: `a bare HTTP server, a call for up to ${MOST_TOGETHER}`, port: together.port },
    { name: 'Rollcall', port: server.port },
  ];
  const requests = requestsOfOperation(name)(token);
  const results = await besideBareClient(pace, comparison, { requests, project, place }, servers);
  table(
    ['server', ...OPERATION_COLUMNS.slice(1, 5)],
    results.map((result) => row({ ...comparison, name: result.name }, result, null).slice(0, 5)),
  );
  await alone.stop();
  await together.stop();
}

interface Result {
  readonly name: string;
  readonly bare: number;
  readonly ours: number;
  readonly p99: number;
  readonly ratio: number;
}

function row({ name, what }: Comparison, result: Result, target: number | null, more = ''): string[] {
  return [
    name,
    whole(result.ours),
    two(result.p99),
    `${what} ${whole(result.bare)}`,
    two(result.ratio),
    target === null ? '' : `≥ ${two(target)}`,
    target === null ? '' : verdict(result.ratio >= target),
    more,
  ];
}

/** Loads servers in turn, each round beside a bare client's: medians over the rounds, of the ratios too. */
async function besideBareClient(
  { rounds, seconds }: Pace,
  { what, updates = 1 }: Comparison,
  { requests, project, place }: { requests: string[]; project: string; place: Place },
  servers: readonly { readonly name: string; readonly port: number }[],
): Promise<Result[]> {
  const groups = Array.from({ length: SMALL.smallGroups }, (_, index) => smallGroupId(index));
  const members = groups.map((_, index) => smallGroupMembers(SMALL, index)[0] as string);
  const bare: BarePlan = {
    what,
    ...place.urls,
    project,
    groups,
    members,
    callers: CONNECTIONS,
    seconds,
  };
  const measured = servers.map(({ name }) => ({ name, rounds: [] as Omit<Result, 'name'>[] }));
  for (let round = -1; round < rounds; round += 1) {
    const { requestsPerSecond: alone } = await runBare<BarePlan>('bare-client.ts', bare);
    for (const [index, { name, port }] of servers.entries()) {
      const { requestsPerSecond, p99 } = await load(name, planFor({ port, seconds, requests }));
      const ours = requestsPerSecond * updates;
      if (round >= 0) measured[index]?.rounds.push({ bare: alone, ours, p99, ratio: ours / alone });
    }
  }
  return measured.map(({ name, rounds: each }) => {
    const of = (column: keyof Omit<Result, 'name'>) => median(each.map((round) => round[column]));
    return { name, bare: of('bare'), ours: of('ours'), p99: of('p99'), ratio: of('ratio') };
  });
}

async function requestsPerStatement(
  { seconds }: Pace,
  { name, port }: { readonly name: string; readonly port: number },
  requests: string[],
  { urls }: Place,
): Promise<number> {
  const before = await statements(urls.databaseUrl);
  // The way to remembering them all is to count too.
  const plan = { ...planFor({ port, seconds: seconds + WARM_UP_SECONDS, requests }), warmUpSeconds: 0 };
  const { requestsPerSecond } = await load(name, plan);
  return (requestsPerSecond * plan.seconds) / ((await statements(urls.databaseUrl)) - before);
}

const planFor = (what: Pick<LoadPlan, 'port' | 'seconds' | 'requests'>): LoadPlan => ({
  ...what,
  connections: CONNECTIONS,
  warmUpSeconds: WARM_UP_SECONDS,
  awake: false,
});

function requestsOfOperation(name: string): (token: string) => string[] {
  const operation = OPERATIONS.find((candidate) => candidate.name === name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return (token) => operation.requests(SMALL, token);
}

/** The members of each large group, all at one paragraph. */
const crowds = (): UserPlace[][] =>
  Array.from({ length: CROWD.largeGroups }, (_, index) =>
    largeGroupMembers(CROWD, index).map((user) => ({
      user,
      group: largeGroupId(index),
      page: 0,
      paragraph: 0,
    })),
  );

function seldomRequests(token: string): string[] {
  return crowds().flatMap((places) => places.map((place) => presenceRequest(token, place)));
}

function togetherRequests(token: string): string[] {
  return crowds().map((places) => presencesRequest(token, places.slice(0, TOGETHER)));
}
