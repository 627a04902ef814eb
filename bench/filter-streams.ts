/** Streams of one group that each have a filter of their own, of which every one shows everybody. */
import { connect, type Socket } from 'node:net';
import { projectToken } from './credentials.ts';
import { userId } from './dataset.ts';
import { type Child, freshDirectory, residentBytes, startServer } from './processes.ts';

const GROUP = 'crowd';
/** Each subset of these is a filter. */
const PAIRS = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`key${index}`, 'value']));
const LOCATION = { doc: 'a', ...PAIRS };
const AT_ONCE = 25;
const UPDATES_AT_ONCE = 1_000;

/** How much resident memory so many streams add to a server in whose group so many users are present, in bytes. */
export async function filterStreamsBytes(streams: number, users: number): Promise<number> {
  const token = await projectToken();
  const options = JSON.stringify({ dataDir: freshDirectory() });
  const server = await startServer('rollcall-server.ts', options);
  await fill(server, token, users);
  const before = residentBytes(server.pid);
  const sockets: Socket[] = [];
  for (let first = 0; first < streams; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, streams - first);
    const opened = Array.from({ length: count }, (_, offset) => open(server, token, first + offset));
    sockets.push(...(await Promise.all(opened)));
  }
  const bytes = residentBytes(server.pid) - before;
  for (const socket of sockets) socket.destroy();
  await server.stop();
  return bytes;
}

/** Everybody is present ephemerally and durably. */
async function fill(server: Child, token: string, users: number): Promise<void> {
  const members = Array.from({ length: users }, (_, index) => userId(index));
  const groups = [{ id: GROUP, name: 'Crowd', members }];
  await send(server, token, 'POST', '/v1/batch', { users: members.map((id) => ({ id })), groups });
  for (const durable of [false, true]) {
    for (let first = 0; first < users; first += UPDATES_AT_ONCE) {
      const updates = members
        .slice(first, first + UPDATES_AT_ONCE)
        .map((userID) => ({ userID, groupID: GROUP, location: LOCATION, durable }));
      await send(server, token, 'PUT', '/v1/presence', { updates });
    }
  }
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
  if (!answer.ok) throw new Error(`${method} ${path} was rejected: ${text}`);
}

/** A stream whose snapshot has come; what comes later is thrown away. */
function open({ port }: Child, token: string, index: number): Promise<Socket> {
  const pairs = Object.entries(PAIRS).filter((_, bit) => ((index >> bit) & 1) === 1);
  const location = JSON.stringify({ doc: 'a', ...Object.fromEntries(pairs) });
  const query = new URLSearchParams({ location, partial_match: 'true' });
  const socket = connect({ host: '127.0.0.1', port });
  socket.write(
    `GET /v1/groups/${GROUP}/presence?${query} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return new Promise((resolve, reject) => {
    let end = '';
    socket.on('data', (chunk: Buffer) => {
      end = (end + chunk.toString('latin1')).slice(-200);
      if (/\nid: \S+\n\n$/.test(end)) resolve(socket);
    });
    socket.once('end', () => reject(new Error(`a stream ended: ${end}`)));
    socket.once('error', reject);
  });
}
