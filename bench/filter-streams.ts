/** Streams of one group that each have a filter of their own; each filter shows every user. */
import { connect, type Socket } from 'node:net';
import { projectToken } from './credentials.ts';
import { userId } from './dataset.ts';
import { send } from './http.ts';
import { type Child, startRollcall } from './processes.ts';
import { residentBytes } from './resident-bytes.ts';

const GROUP = 'crowd';
/** Each subset of these is a filter. */
const PAIRS = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`key${index}`, 'value']));
const LOCATION = { doc: 'a', ...PAIRS };
const AT_ONCE = 25;
const UPDATES_AT_ONCE = 1_000;

/** The resident memory that so many streams add to a server in whose group so many users are present, in bytes. */
export async function filterStreamsBytes(streams: number, users: number): Promise<number> {
  const token = await projectToken();
  const server = await startRollcall();
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

/** Every user is present ephemerally and durably. */
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

/** Opens a stream and waits for its snapshot; what follows is discarded. */
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
