import { type Cost, costOf, readCounters } from './cost-counters.ts';
import { projectToken } from './credentials.ts';
import { type Dataset, fill, groupId, groupMembers, SMALL } from './dataset.ts';
import { send } from './http.ts';
import { CONNECTIONS, type Pace } from './measure.ts';
import { OPERATIONS, requestsOf } from './operations.ts';
import { BOTH_CORES, type Child, load, runBeside, startRollcall } from './processes.ts';
import { one, print, table, two, verdict, whole } from './report.ts';
import { hasServers, makeServers, redisMemory, rowsOf, type ScaleOutServers } from './scale-out-servers.ts';
import { printNeeds, type UnitCosts } from './scaling-model.ts';
import type { SocketPlan, SocketResult } from './socket-load.ts';
import { fill as fillPages, pages } from './socket-pages.ts';
import type { StreamPlan, StreamResult } from './stream-readers.ts';
import { deliveries } from './webhook-deliveries.ts';

/** Caches are filled and code is compiled after so long, for each process: each compiles by itself. */
const WARM_UP_SECONDS = 8;
/** What PostgreSQL stores of users and of memberships is measured with these. */
const USERS_ONLY: Dataset = { users: 20_000, groups: 0, groupSize: 0, largeGroups: 0 };
const MEMBERSHIPS: Dataset = { users: 20_000, groups: 2_000, groupSize: 50, largeGroups: 0 };
/** Of the requests of the prediction, so many are reads, presence updates and renamed groups. */
const MIX = [
  ['GET group', 9],
  ['PUT presence', 9],
  ['PUT group name', 2],
] as const;
const MIX_NAME = 'a mix of the three: 45 % reads, 45 % presence, 10 % writes';
const PROCESSES = 3;
/** Most that a prediction may differ from what is measured, as a part of the latter. */
const PREDICTION_ERROR_MAX = 1 / 3;
const STREAMS = 500;
const MOVES_PER_SECOND = 100;
const MOVERS = 1_000;
const WATCHERS = 100;
const SOCKET_MOVES_PER_SECOND = 1_000;

/** The inputs of what is measured here. */
interface Setting {
  readonly pace: Pace;
  readonly token: string;
  readonly servers: ScaleOutServers;
}

/** What one operation, stream, socket and webhook costs on PostgreSQL and Redis, and what that says of several processes. */
export async function costsPart(pace: Pace): Promise<void> {
  if (!(await hasServers('Costs'))) return;
  await using servers = await makeServers();
  const setting = { pace, token: await projectToken(), servers };
  const bytes = await stored(setting);
  const { mix, read, write } = await operations(setting);
  const { move, event } = await held(setting);
  await prediction(setting, mix);
  printNeeds({ ...bytes, move, read, write, event });
}

type StoredBytes = Pick<UnitCosts, 'userBytes' | 'membershipBytes' | 'presenceBytes'>;

/** Bytes on disk and in Redis' memory. */
async function stored({ token, servers }: Setting): Promise<StoredBytes> {
  const url = await servers.freshDatabase();
  await using server = await startRollcall({ ...servers.urls, databaseUrl: url });
  const bytes = async () =>
    Number((await rowsOf(url, 'SELECT pg_database_size(current_database())'))[0]?.[0]);
  const empty = await bytes();
  await fill(server, token, USERS_ONLY);
  const withUsers = await bytes();
  await fill(server, token, MEMBERSHIPS);
  const withGroups = await bytes();
  const memberships = MEMBERSHIPS.groups * MEMBERSHIPS.groupSize;
  const before = await redisMemory();
  for (let group = 0; group < MEMBERSHIPS.groups; group += 20) {
    const updates = Array.from({ length: 20 }, (_, offset) => group + offset).flatMap((index) =>
      groupMembers(MEMBERSHIPS, index).map((userID) => ({
        ...{ userID, groupID: groupId(index) },
        ...{ location: { page: 'page-1', paragraph: 'paragraph-1' }, exclusiveWithin: { page: 'page-1' } },
      })),
    );
    for (let first = 0; first < updates.length; first += 100)
      await send(server, token, 'PUT', '/v1/presence', { updates: updates.slice(first, first + 100) });
  }
  const found = {
    userBytes: (withUsers - empty) / USERS_ONLY.users,
    membershipBytes: (withGroups - withUsers) / memberships,
    presenceBytes: ((await redisMemory()) - before) / memberships,
  };
  print('### What is stored, with its record of changes');
  print();
  table(
    ['what', 'bytes'],
    [
      ['a user with name and email address, PostgreSQL', whole(found.userBytes)],
      [`a membership, in groups of ${MEMBERSHIPS.groupSize}, PostgreSQL`, whole(found.membershipBytes)],
      ['a present user, Redis', whole(found.presenceBytes)],
    ],
  );
  return found;
}

function mixedRequests(token: string): string[] {
  const kinds = MIX.flatMap(([name, share]) => Array.from({ length: share }, () => requestsOf(name, token)));
  return Array.from({ length: 60_000 }, (_, index) => kinds[index % kinds.length]?.[index] as string);
}

type OperationCosts = Pick<UnitCosts, 'read' | 'write'> & { readonly mix: Cost };

/** Prints what each operation costs with one process. */
async function operations(setting: Setting): Promise<OperationCosts> {
  const { token, servers } = setting;
  await using server = await startRollcall(servers.urls);
  await fill(server, token, SMALL);
  print('### What a request costs on PostgreSQL and Redis, one process, 32 connections');
  print();
  // First, while all are members of their groups: later operations exchange some.
  const mix = await measured(setting, [server], MIX_NAME, mixedRequests(token));
  const rows = [rowOf(MIX_NAME, mix.cost)];
  const costs = new Map<string, Cost>();
  for (const { name, requests } of OPERATIONS) {
    const { cost } = await measured(setting, [server], name, requests(SMALL, token));
    rows.push(rowOf(name, cost));
    costs.set(name, cost);
  }
  table(COLUMNS, rows);
  return {
    mix: mix.cost,
    read: costs.get('GET group') as Cost,
    write: costs.get('PUT group name') as Cost,
  };
}

const COLUMNS = [
  'operation',
  'server µs',
  'PostgreSQL µs',
  'Redis µs',
  'SQL statements',
  'Redis calls',
  'bytes of PostgreSQL’s log',
];

const rowOf = (name: string, cost: Cost): string[] => [
  ...[name, one(cost.server), one(cost.postgres), one(cost.redis)],
  ...[two(cost.statements), two(cost.redisCalls), whole(cost.walBytes)],
];

async function measured(
  { pace, servers }: Setting,
  children: readonly Child[],
  name: string,
  requests: string[],
): Promise<{ cost: Cost; requestsPerSecond: number }> {
  // As many for each process as with one: what shares a statement or a call of Redis is what one process has under way.
  const connections = CONNECTIONS * children.length;
  const plan = { port: children.map(({ port }) => port), connections, requests, awake: false };
  const pids = children.map(({ pid }) => pid);
  await load(name, { ...plan, seconds: WARM_UP_SECONDS * children.length });
  const before = await readCounters(servers, pids);
  const { answers, requestsPerSecond } = await load(name, { ...plan, seconds: pace.seconds * 2 });
  return { cost: costOf(before, await readCounters(servers, pids), answers), requestsPerSecond };
}

/** Streams, sockets and webhooks. */
async function held({ pace, token, servers }: Setting): Promise<Pick<UnitCosts, 'move' | 'event'>> {
  await using server = await startRollcall({ ...servers.urls, webhooksAllow: '127.0.0.0/8' });
  const pids = [server.pid];
  await fill(server, token, SMALL);
  const members = groupMembers(SMALL, 0);
  const streams = await runBeside<StreamPlan, StreamResult>('stream-readers.ts', {
    ...{ port: server.port, serverPid: server.pid, token, group: groupId(0), members },
    ...{ streams: STREAMS, sampled: 10 },
    ...{ movesPerSecond: MOVES_PER_SECOND, moves: MOVES_PER_SECOND * pace.seconds * 4 },
  });
  const [movers, watchers] = [pages(MOVERS, WATCHERS, 'mover'), pages(WATCHERS, WATCHERS, 'watcher')];
  await fillPages(server, token, [...movers, ...watchers]);
  const beforeSockets = await readCounters(servers, pids);
  const sockets = await runBeside<SocketPlan, SocketResult>('socket-load.ts', {
    ...{ port: server.port, serverPid: server.pid, movers, watchers, locations: 2 },
    ...{ seconds: pace.seconds * 4, movesPerSecond: SOCKET_MOVES_PER_SECOND },
  });
  const socketCost = costOf(beforeSockets, await readCounters(servers, pids), sockets.movesInAll);
  const delivered = await deliveries(server, token, (count, deliver) => async () => {
    const before = await readCounters(servers, pids);
    await deliver();
    return costOf(before, await readCounters(servers, pids), count);
  });
  const event = (streams.processorSeconds * 1e6) / streams.delivered;
  print('### What streams, sockets and webhooks cost on PostgreSQL and Redis');
  print();
  table(COLUMNS, [
    [
      `an event of a stream to one of ${STREAMS} readers, with its share of the PUT`,
      one(event),
      ...['', '', '', '', ''],
    ],
    rowOf('a move through a socket and its event to one reader', socketCost),
    rowOf('a change and its delivery to a webhook', delivered),
  ]);
  return { move: socketCost, event };
}

/** What the costs of one process say of several, beside what several do. All run on both cores. A wrong prediction is exit code 1. */
async function prediction(setting: Setting, mix: Cost): Promise<void> {
  const { servers, token } = setting;
  const children: Child[] = [];
  for (let index = 0; index < PROCESSES; index += 1)
    children.push(await startRollcall({ ...servers.urls, cores: BOTH_CORES }));
  await fill(children[0] as Child, token, SMALL);
  const total = mix.server + mix.postgres + mix.redis + mix.load;
  const predicted = (BOTH_CORES.split(',').length * 1e6) / total;
  const { cost, requestsPerSecond } = await measured(setting, children, MIX_NAME, mixedRequests(token));
  for (const child of children) await child.stop();
  const error = Math.abs(predicted - requestsPerSecond) / requestsPerSecond;
  const isWithin = error <= PREDICTION_ERROR_MAX;
  if (!isWithin) process.exitCode = 1;
  print(
    `### ${PROCESSES} processes with ${CONNECTIONS} connections each, PostgreSQL, Redis and the load on two cores: ${MIX_NAME}`,
  );
  print();
  table(
    ['what', 'value'],
    [
      ['processor µs of a request with one process: server', one(mix.server)],
      ['PostgreSQL', one(mix.postgres)],
      ['Redis', one(mix.redis)],
      ['load generator', one(mix.load)],
      ['predicted requests/s: two cores over their sum', whole(predicted)],
      [`measured requests/s with ${PROCESSES} processes`, whole(requestsPerSecond)],
      ['measured over predicted', two(requestsPerSecond / predicted)],
      [
        'difference over measured (a third at most: 0.75 to 1.50 of the prediction)',
        `${two(error)}, ${verdict(isWithin)}`,
      ],
      [`processor µs of a request with ${PROCESSES} processes: server`, one(cost.server)],
      ['PostgreSQL', one(cost.postgres)],
      ['Redis', one(cost.redis)],
    ],
  );
}
