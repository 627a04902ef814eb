/**
 * The least that the socket can be: `ws` with the same options sends each message back. With an argument, so many connections, the first
 * ones, are watchers: each message of another connection is sent to one of them too. With `map` after it, a message is instead an update
 * of a user's location in a map, which is answered, and of which a watcher gets an event. Prints `{"port": …}` when it listens.
 */
import type { AddressInfo } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';

const watchersMax = Number(process.argv[2] ?? 0);
const hasMap = process.argv[3] === 'map';
const watchers: WebSocket[] = [];
const locations = new Map<string, unknown>();
let connections = 0;
const server = new WebSocketServer({
  host: '127.0.0.1',
  port: 0,
  perMessageDeflate: false,
  clientTracking: false,
  maxPayload: 65_536,
  handleProtocols: (protocols) => [...protocols][0] as string,
});
server.on('connection', (ws) => {
  if (watchers.length < watchersMax) watchers.push(ws);
  const watcher = watchers[connections % watchersMax];
  const user = `user-${connections}`;
  connections += 1;
  const update = (text: string) => {
    const { ref, location } = JSON.parse(text) as { ref: number; location: unknown };
    const event = { type: 'arrived', userID: user, location, from: locations.get(user) ?? null };
    locations.set(user, location);
    ws.send(JSON.stringify({ ref, ok: true }));
    watcher?.send(JSON.stringify(event));
  };
  const echo = (data: RawData, isBinary: boolean) => {
    ws.send(data, { binary: isBinary });
    watcher?.send(data, { binary: isBinary });
  };
  ws.on('message', hasMap ? (data) => update(data.toString()) : echo);
});
server.on('listening', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
