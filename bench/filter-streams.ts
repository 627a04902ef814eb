/** Streams of one group that each have a filter of their own; each filter shows every user. */
import type { Socket } from 'node:net';
import { projectToken } from './credentials.ts';
import { userId } from './dataset.ts';
import { openStream } from './event-stream.ts';
import { send } from './http.ts';
import { residentBytes } from './process-usage.ts';
import { type Child, startRollcall } from './processes.ts';

const GROUP = 'crowd';
/** Each subset of these is a filter. */
const PAIRS = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`key${index}`, 'value']));
const LOCATION = { doc: 'a', ...PAIRS };
const AT_ONCE = 25;
const UPDATES_AT_ONCE = 1_000;

/** The resident memory that so many streams add to a server in whose group so many users are present, in bytes. */
export async function filterStreamsBytes(streams: number, users: number): Promise<number> {
  const token = await projectToken();
  await using server = await startRollcall();
  await fill(server, token, users);
  const before = residentBytes(server.pid);
  const sockets: Socket[] = [];
  for (let first = 0; first < streams; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, streams - first);
    const opened = Array.from({ length: count }, (_, offset) => {
      const stream = { port: server.port, token, path: pathOf(first + offset) };
      // What follows the snapshot is discarded.
      return openStream(stream, () => {});
    });
    sockets.push(...(await Promise.all(opened)));
  }
  const bytes = residentBytes(server.pid) - before;
  for (const socket of sockets) socket.destroy();
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

/** The stream with the filter of this number. */
function pathOf(index: number): string {
  const pairs = Object.entries(PAIRS).filter((_, bit) => ((index >> bit) & 1) === 1);
  const location = JSON.stringify({ doc: 'a', ...Object.fromEntries(pairs) });
  return `/v1/groups/${GROUP}/presence?${new URLSearchParams({ location, partial_match: 'true' })}`;
}
