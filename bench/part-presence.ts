import { projectToken } from './credentials.ts';
import { userId } from './dataset.ts';
import type { ExpiryPlan, ExpiryResult } from './expiry-reader.ts';
import { measureInTurn, type Pace, type Subject } from './measure.ts';
import { type Child, freshDirectory, runBeside, startServer } from './processes.ts';
import { say, table, two, verdict, whole } from './report.ts';
import type { StreamPlan, StreamResult } from './stream-readers.ts';

const STREAMS = 5_000;
const MEMBERS = 1_000;
const MOVES_PER_SECOND = 100;
const DELIVERY_P99_MS = 250;
const STREAM_BYTES = 20 * 1_024;
const EXPIRY_P99_MS = 1_000;
const EXPIRY_TTL_SECONDS = 2;
const CROWD = 100_000;
const CROWD_RATIO = 0.8;
const GROUP_SIZE = 1_000;

/** Presence as many see it: streams, a crowd, and departures that nobody announces. */
export async function presencePart(pace: Pace): Promise<void> {
  const token = await projectToken();
  await streams(pace, token);
  await crowd(pace, token);
  await expiries(token);
}

const groupId = (index: number) => `crowd-${index}`;
const membersOf = (group: number, size = GROUP_SIZE) =>
  Array.from({ length: size }, (_, index) => userId(group * GROUP_SIZE + index));

async function startWith(token: string, users: number, options: object = {}): Promise<Child> {
  const dataDir = freshDirectory();
  const server = await startServer('rollcall-server.ts', JSON.stringify({ dataDir, ...options }));
  for (let group = 0; group * GROUP_SIZE < users; group += 1) {
    const members = membersOf(group);
    await send(server, token, 'POST', '/v1/batch', {
      users: members.map((id) => ({ id })),
      groups: [{ id: groupId(group), name: `Crowd ${group}`, members }],
    });
  }
  return server;
}

async function send(
  server: Child,
  token: string,
  method: string,
  path: string,
  body: unknown,
): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was refused: ${text}`);
}

async function streams({ seconds }: Pace, token: string): Promise<void> {
  say(
    `### ${whole(STREAMS)} streams on one group of ${whole(MEMBERS)} members, ${MOVES_PER_SECOND} moves a second`,
  );
  say();
  const server = await startWith(token, MEMBERS);
  const result = await runBeside<StreamPlan, StreamResult>('stream-readers.ts', 'streams', {
    port: server.port,
    token,
    group: groupId(0),
    members: membersOf(0),
    streams: STREAMS,
    sampled: 50,
    movesPerSecond: MOVES_PER_SECOND,
    moves: MOVES_PER_SECOND * seconds * 5,
    serverPid: server.pid,
  });
  await server.stop();
  const { bytesPerStream, delivered, expected, p50, p99, max } = result;
  table(
    ['what', 'measured', 'target', ''],
    [
      [
        'events delivered',
        whole(delivered),
        `${whole(expected)}, each once`,
        verdict(delivered === expected),
      ],
      ['from PUT to reader, p50 ms', two(p50), '', ''],
      ['from PUT to reader, p99 ms', two(p99), `≤ ${DELIVERY_P99_MS}`, verdict(p99 <= DELIVERY_P99_MS)],
      ['from PUT to reader, longest ms', two(max), '', ''],
      [
        'resident memory of an idle stream, bytes',
        whole(bytesPerStream),
        `≤ ${whole(STREAM_BYTES)}`,
        verdict(bytesPerStream <= STREAM_BYTES),
      ],
    ],
  );
}

async function crowd(pace: Pace, token: string): Promise<void> {
  say(`### PUT presence with ${whole(CROWD)} users present in one project, beside ${whole(GROUP_SIZE)}`);
  say();
  const few = await startPresent(token, GROUP_SIZE);
  const many = await startPresent(token, CROWD);
  const rows: string[][] = [];
  for (const [name, places] of [
    ['refresh', 1],
    ['move', 7],
  ] as const) {
    const subjects: Subject[] = [
      { name: 'few', port: few.port, requests: presenceRequests(token, GROUP_SIZE, places) },
      { name: 'many', port: many.port, requests: presenceRequests(token, CROWD, places) },
    ];
    const [small, large] = await measureInTurn(subjects, pace);
    if (small === undefined || large === undefined) throw new Error('nothing was measured');
    rows.push([
      `PUT presence (${name})`,
      whole(small.requestsPerSecond),
      whole(large.requestsPerSecond),
      two(large.p99),
      two(large.ratio),
      verdict(large.ratio >= CROWD_RATIO),
    ]);
  }
  table(
    [
      'operation',
      `${whole(GROUP_SIZE)}/s`,
      `${whole(CROWD)}/s`,
      'p99 ms',
      `ratio (≥ ${two(CROWD_RATIO)})`,
      '',
    ],
    rows,
  );
  await Promise.all([few.stop(), many.stop()]);
}

/** A server on which everybody is present. */
async function startPresent(token: string, users: number): Promise<Child> {
  const server = await startWith(token, users);
  for (let group = 0; group * GROUP_SIZE < users; group += 1) {
    const updates = membersOf(group).map((userID) => ({ userID, ...placeOf(group, 0) }));
    await send(server, token, 'PUT', '/v1/presence', { updates });
  }
  return server;
}

const placeOf = (group: number, place: number) => ({
  groupID: groupId(group),
  location: { page: 'the page', paragraph: `paragraph-${place}` },
  exclusiveWithin: { page: 'the page' },
});

/** Everybody in turn, in no order of their IDs; 20,000 of them where there are more. */
function presenceRequests(token: string, users: number, places: number): string[] {
  return Array.from({ length: 20_000 }, (_, turn) => {
    const index = (turn * 7_919) % users;
    const body = JSON.stringify(placeOf(Math.floor(index / GROUP_SIZE), Math.floor(turn / 3) % places));
    return `PUT /v1/users/${userId(index)}/presence HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  });
}

async function expiries(token: string): Promise<void> {
  say('### Departures after expiry');
  say();
  const server = await startWith(token, GROUP_SIZE, { presenceTtlSeconds: EXPIRY_TTL_SECONDS });
  const { p50, p99, max, missed } = await runBeside<ExpiryPlan, ExpiryResult>('expiry-reader.ts', 'expiry', {
    port: server.port,
    token,
    group: groupId(0),
    members: membersOf(0),
    ttlMs: EXPIRY_TTL_SECONDS * 1_000,
  });
  await server.stop();
  table(
    ['what', 'measured', 'target', ''],
    [
      ['after the deadline, p50 ms', two(p50), '', ''],
      ['after the deadline, p99 ms', two(p99), `≤ ${whole(EXPIRY_P99_MS)}`, verdict(p99 <= EXPIRY_P99_MS)],
      ['after the deadline, longest ms', two(max), '', ''],
      ['departures that did not come', String(missed), '0', verdict(missed === 0)],
    ],
  );
}
