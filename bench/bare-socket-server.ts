/**
 * The least that the socket can be: `ws` with the same options sends each message back. Prints `{"port": …}` when it
 * listens.
 */
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({
  host: '127.0.0.1',
  port: 0,
  perMessageDeflate: false,
  clientTracking: false,
  maxPayload: 65_536,
  handleProtocols: (protocols) => [...protocols][0] as string,
});
server.on('connection', (ws) => {
  ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
});
server.on('listening', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
