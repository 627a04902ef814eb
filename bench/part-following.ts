import { projectToken } from './credentials.ts';
import { atRate } from './event-stream.ts';
import { type Followed, openFollowers } from './followers.ts';
import type { FollowingPlan, FollowingResult } from './following-reader.ts';
import { send } from './http.ts';
import type { Pace } from './measure.ts';
import { type Child, runBeside, startRollcall } from './processes.ts';
import { ageFigures, figures, print, table, two, verdict, whole } from './report.ts';
import { hasServers, makeServers } from './scale-out-servers.ts';

/** How many processes follow the group, and how many writes a second other groups have. */
const RUNS = [
  { processes: 10, otherWrites: 8 },
  { processes: 100, otherWrites: 8 },
  { processes: 10, otherWrites: 80 },
];
const OTHER_GROUPS = 80;
/** Writes a second of the group that all of them follow. */
const OWN_WRITES = 2;
const SECONDS = 10;
/** What a process pays may grow by this much while processes or other writes grow tenfold. */
const GROWTH_MAX = 1.25;
const FOLLOWED = { groupId: 'followed', threadId: 'followed' };
const MEMBERS = ['a', 'b', 'c'];
/** The group of the reader on another process. Each member is written seldom, so that no two events of one are merged. */
const READ_GROUP = 'read';
const READ_MEMBERS = Array.from({ length: 100 }, (_, index) => `reader-${index}`);
const READER_WRITES = 400;
const READER_WRITES_PER_SECOND = 20;
const READER_P99_MS = 100;

/** What following groups costs each process, and how soon a change is with a reader on another process. */
export async function followingPart({ seconds }: Pace): Promise<void> {
  if (!(await hasServers('Following'))) return;
  await using servers = await makeServers();
  const { urls } = servers;
  await using server = await startRollcall(urls);
  const token = await projectToken();
  await fill(server, token);
  const length = seconds >= 1 ? SECONDS : SECONDS / 2;
  print(`### What a process pays for following a group, ${OWN_WRITES} of whose changes are made each second`);
  print();
  const found: PerProcess[] = [];
  for (const run of RUNS) {
    await using followers = await openFollowers(urls, run.processes, FOLLOWED);
    // What opening has caused is over after two readings of the record.
    await write(server, token, { ...run, seconds: 2 });
    followers.take();
    await write(server, token, { ...run, seconds: length });
    found.push(perProcess(followers.take(), run.processes * length));
  }
  followingTable(found);
  await using other = await startRollcall(urls);
  await readerTable(token, server, other);
}

async function fill(server: Child, token: string): Promise<void> {
  const ids = [FOLLOWED.groupId, ...Array.from({ length: OTHER_GROUPS }, (_, index) => `other-${index}`)];
  const groups = ids.map((id) => ({ id, name: 'G', members: MEMBERS }));
  await send(server, token, 'POST', '/v1/batch', {
    users: [...MEMBERS, ...READ_MEMBERS].map((id) => ({ id })),
    groups: [...groups, { id: READ_GROUP, name: 'G', members: READ_MEMBERS }],
  });
  for (const id of ids) await send(server, token, 'PUT', `/v1/threads/${id}`, { groupID: id, name: 'T' });
}

/** Writes at a rate: every second write is a durable location, the others are messages. */
async function write(
  server: Child,
  token: string,
  { otherWrites, seconds }: { readonly otherWrites: number; readonly seconds: number },
): Promise<void> {
  const put = (group: string, index: number) => {
    if (index % 2 === 0)
      return send(server, token, 'PUT', '/v1/users/a/presence', {
        ...{ groupID: group, durable: true },
        ...{ location: { page: '1', line: `${performance.now()}` }, exclusiveWithin: { page: '1' } },
      });
    const content = [{ type: 'p', children: [{ text: 'x' }] }];
    return send(server, token, 'POST', `/v1/threads/${group}/messages`, { authorID: 'a', content });
  };
  await Promise.all([
    atRate(OWN_WRITES * seconds, OWN_WRITES, (index) => put(FOLLOWED.groupId, index)),
    atRate(otherWrites * seconds, otherWrites, (index) =>
      put(`other-${Math.floor(index / 2) % OTHER_GROUPS}`, index),
    ),
  ]);
}

type PerProcess = Readonly<Record<keyof Followed, number>>;

const perProcess = ({ calls, records, messages, events }: Followed, share: number): PerProcess => ({
  calls: calls / share,
  records: records / share,
  messages: messages / share,
  events: events / share,
});

function followingTable(found: readonly PerProcess[]): void {
  const [first] = found as [PerProcess];
  const isFlat = (each: PerProcess) =>
    each.calls <= first.calls * GROWTH_MAX &&
    each.records <= first.records * GROWTH_MAX &&
    each.messages <= first.messages * GROWTH_MAX;
  table(
    [
      'processes',
      'other writes/s',
      'calls of the store/s',
      'records/s',
      'messages/s',
      'events to readers/s',
      'flat',
    ],
    found.map((each, index) => [
      `${RUNS[index]?.processes}`,
      `${RUNS[index]?.otherWrites}`,
      two(each.calls),
      two(each.records),
      two(each.messages),
      two(each.events),
      index === 0 ? '' : verdict(isFlat(each)),
    ]),
  );
}

async function readerTable(token: string, reading: Child, writing: Child): Promise<void> {
  const { delivered, ...ages } = await runBeside<FollowingPlan, FollowingResult>('following-reader.ts', {
    ...{ port: reading.port, writePort: writing.port, token },
    ...{ group: READ_GROUP, members: READ_MEMBERS },
    ...{ writes: READER_WRITES, perSecond: READER_WRITES_PER_SECOND },
  });
  print(`### A change that is made through another process, ${READER_WRITES_PER_SECOND} a second`);
  print();
  figures([
    ['events delivered', whole(delivered), whole(READER_WRITES), verdict(delivered === READER_WRITES)],
    ...ageFigures('from PUT to reader', ages, READER_P99_MS),
  ]);
}
