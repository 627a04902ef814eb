/**
 * The least that the socket can be: `ws` with the same options sends each message back. With an argument, so many connections, the first
 * ones, are watchers: each message of another connection is sent to one of them too. Prints `{"port": …}` when it listens.
 */
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

const watchersMax = Number(process.argv[2] ?? 0);
const watchers: WebSocket[] = [];
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
  connections += 1;
  ws.on('message', (data, isBinary) => {
    ws.send(data, { binary: isBinary });
    watcher?.send(data, { binary: isBinary });
  });
});
server.on('listening', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
