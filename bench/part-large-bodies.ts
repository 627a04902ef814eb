/** The cost of large bodies: how long /healthz waits meanwhile, and the memory of uploads that do not end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { projectToken } from './credentials.ts';
import { batches, SMALL, userId } from './dataset.ts';
import { send } from './http.ts';
import { type Pace, timeOf } from './measure.ts';
import { percentilesOf } from './percentiles.ts';
import { residentBytes } from './process-usage.ts';
import { BOTH_CORES, type Child, type RollcallOptions, startRollcall } from './processes.ts';
import { figure, figures, mebibytes, print, table, two, verdict, whole } from './report.ts';
import { hasServers, makeServers } from './scale-out-servers.ts';

const HEALTH_TARGET_MS = 250;
const BODIES = 3;
const MEMBERS = 1_700_000;
const UPLOADS = 500;
const UPLOAD_BYTES = 1_024 ** 2;
/** The default of ROLLCALL_BODIES_MEMORY_BYTES, and what the objects around the bytes take. */
const UPLOADS_TARGET_BYTES = 256 * 1_024 ** 2 * 1.25;
const SETTLED_MS = 3_000;

export async function largeBodiesPart(_pace: Pace): Promise<void> {
  print(`### ${BODIES} groups of ${whole(MEMBERS)} listed members at once, their bodies with an escaped key`);
  print();
  const token = await projectToken();
  const rows = [await rowOf('embedded', token, {})];
  if (await hasServers('Large bodies on PostgreSQL')) {
    await using servers = await makeServers();
    rows.push(await rowOf('PostgreSQL and Redis', token, servers.urls));
  }
  table(
    ['engine', 'body bytes', 'seconds', 'p99 ms of /healthz', `longest ms (≤ ${HEALTH_TARGET_MS})`, ''],
    rows,
  );
  await unfinishedUploads(token);
}

async function rowOf(engine: string, token: string, options: RollcallOptions): Promise<string[]> {
  await using server = await startRollcall({ ...options, cores: BOTH_CORES });
  for (const batch of batches({ ...SMALL, groups: 0, largeGroups: 0 }))
    await send(server, token, 'POST', '/v1/batch', batch);
  const ids = Array.from({ length: MEMBERS }, (_, index) => userId(index % SMALL.users));
  // Encoded before anything is measured: this process measures the waits, and must not cause them.
  const body = `{"na\\u006de":"G","members":${JSON.stringify(ids)}}`;
  const waits: number[] = [];
  let isRunning = true;
  const polling = (async () => {
    while (isRunning) waits.push(await timeOf(() => fetch(`http://127.0.0.1:${server.port}/healthz`)));
  })();
  const taken = await timeOf(() =>
    Promise.all(
      Array.from({ length: BODIES }, (_, index) => send(server, token, 'PUT', `/v1/groups/g${index}`, body)),
    ),
  );
  isRunning = false;
  await polling;
  const { p99, max } = percentilesOf(waits);
  const numbers = [whole(Buffer.byteLength(body)), two(taken / 1_000), two(p99), two(max)];
  return [engine, ...numbers, verdict(max <= HEALTH_TARGET_MS)];
}

/** Uploads of which everything but the last byte has arrived. */
async function unfinishedUploads(token: string): Promise<void> {
  print(`### ${UPLOADS} uploads of ${whole(UPLOAD_BYTES)} bytes that do not end`);
  print();
  await using server = await startRollcall({ cores: BOTH_CORES });
  await fetch(`http://127.0.0.1:${server.port}/healthz`);
  const before = residentBytes(server.pid);
  let rejected = 0;
  const sockets = await Promise.all(
    Array.from({ length: UPLOADS }, async () => {
      const socket = await upload(server, token);
      socket.on('data', (text) => {
        if (String(text).startsWith('HTTP/1.1 503')) rejected += 1;
      });
      return socket;
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const taken = residentBytes(server.pid) - before;
  for (const socket of sockets) socket.destroy();
  figures([
    figure('answered 503', whole(rejected)),
    [
      'memory of the others, resident',
      mebibytes(taken),
      `≤ ${mebibytes(UPLOADS_TARGET_BYTES)}`,
      verdict(taken <= UPLOADS_TARGET_BYTES),
    ],
  ]);
}

async function upload({ port }: Child, token: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const head = [
    'PUT /v1/groups/g HTTP/1.1',
    'Host: bench',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${UPLOAD_BYTES}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.write(Buffer.alloc(UPLOAD_BYTES - 1, ' '), (error) => (error ? reject(error) : resolve()));
  });
  return socket;
}
