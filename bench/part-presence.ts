import { projectToken } from './credentials.ts';
import { userId } from './dataset.ts';
import type { ExpiryPlan, ExpiryResult } from './expiry-reader.ts';
import { send } from './http.ts';
import type { Pace } from './measure.ts';
import { type Child, type RollcallOptions, runBeside, startRollcall } from './processes.ts';
import { ageFigures, atMost, figures, print, verdict, whole } from './report.ts';
import type { StreamPlan, StreamResult } from './stream-readers.ts';

const STREAMS = 5_000;
const MEMBERS = 1_000;
const MOVES_PER_SECOND = 100;
const DELIVERY_P99_MS = 250;
const STREAM_BYTES = 20 * 1_024;
const EXPIRY_P99_MS = 1_000;
const EXPIRY_TTL_SECONDS = 2;

/** Presence streams with many readers, and departures after expiry. */
export async function presencePart(pace: Pace): Promise<void> {
  const token = await projectToken();
  await streams(pace, token);
  await expiries(token);
}

const GROUP = 'crowd';
const members = Array.from({ length: MEMBERS }, (_, index) => userId(index));

/** A server with one group of {@link MEMBERS} members. */
async function startWithGroup(token: string, options: RollcallOptions = {}): Promise<Child> {
  const server = await startRollcall(options);
  const batch = { users: members.map((id) => ({ id })), groups: [{ id: GROUP, name: 'Crowd', members }] };
  await send(server, token, 'POST', '/v1/batch', batch);
  return server;
}

async function streams({ seconds }: Pace, token: string): Promise<void> {
  print(
    `### ${whole(STREAMS)} streams on one group of ${whole(MEMBERS)} members, ${MOVES_PER_SECOND} moves a second`,
  );
  print();
  await using server = await startWithGroup(token);
  const result = await runBeside<StreamPlan, StreamResult>('stream-readers.ts', {
    port: server.port,
    token,
    group: GROUP,
    members,
    streams: STREAMS,
    sampled: 50,
    movesPerSecond: MOVES_PER_SECOND,
    moves: MOVES_PER_SECOND * seconds * 5,
    serverPid: server.pid,
  });
  const { bytesPerStream, delivered, expected, ...ages } = result;
  figures([
    ['events delivered', whole(delivered), `${whole(expected)}, each once`, verdict(delivered === expected)],
    ...ageFigures('from PUT to reader', ages, DELIVERY_P99_MS),
    atMost('resident memory of an idle stream, bytes', bytesPerStream, STREAM_BYTES, whole),
  ]);
}

async function expiries(token: string): Promise<void> {
  print('### Departures after expiry');
  print();
  await using server = await startWithGroup(token, { presenceTtlSeconds: EXPIRY_TTL_SECONDS });
  const { missed, ...ages } = await runBeside<ExpiryPlan, ExpiryResult>('expiry-reader.ts', {
    port: server.port,
    token,
    group: GROUP,
    members,
    ttlMs: EXPIRY_TTL_SECONDS * 1_000,
  });
  figures([
    ...ageFigures('after the deadline', ages, EXPIRY_P99_MS),
    ['departures that did not come', String(missed), '0', verdict(missed === 0)],
  ]);
}
