/** A server whose socket a test scripts: for answers, closes and delays that a real server gives rarely. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ClientOptions, RollcallClient } from '../../src/index.ts';

/** A frame as the server received it. */
export interface ReceivedFrame {
  readonly op: string;
  readonly ref: number;
  readonly token?: string;
  readonly watch?: number;
  readonly location?: Readonly<Record<string, string>>;
  readonly data?: object | null;
  /** Sends a frame to the same socket. */
  send(frame: object): void;
  readonly ws: WebSocket;
}

/** Handles a frame: `index` counts those of its op. Without a script, and where it returns true, the frame is accepted. */
export type SocketScript = (frame: ReceivedFrame, index: number) => boolean | undefined;

export interface ScriptedSocket {
  readonly client: RollcallClient;
  readonly frames: readonly ReceivedFrame[];
  /** How many sockets were opened. */
  readonly opened: () => number;
  /** How many are open. */
  readonly open: () => number;
  /** The frames of an op, so far. */
  of(op: string): readonly ReceivedFrame[];
}

/** How the server differs, and the client. */
interface ScriptedSocketOptions extends Partial<ClientOptions> {
  /** Answers a request over HTTP. Default: 404. */
  readonly onRequest?: RequestListener;
  /** Opens a socket, or not, or later. */
  readonly onUpgrade?: (open: () => void, socket: Duplex) => void;
}

const notFound: RequestListener = (_, response) => response.writeHead(404).end();

const SNAPSHOT = { event: 'snapshot', id: 'e-0', data: { users: [] } };

/** Runs `use` with a client of a scripted server, and closes both. */
export async function withScriptedSocket(
  script: SocketScript,
  use: (scripted: ScriptedSocket) => Promise<void>,
  { onRequest = notFound, onUpgrade = (open) => open(), ...options }: ScriptedSocketOptions = {},
): Promise<void> {
  const frames: ReceivedFrame[] = [];
  const http = createServer(onRequest);
  const sockets = new WebSocketServer({ noServer: true });
  const connections: Duplex[] = [];
  http.on('upgrade', (request, socket, head) => {
    connections.push(socket);
    const open = () => sockets.handleUpgrade(request, socket, head, (ws) => sockets.emit('connection', ws));
    onUpgrade(open, socket);
  });
  let opened = 0;
  sockets.on('connection', (ws) => {
    opened += 1;
    const send = (frame: object) => ws.send(JSON.stringify(frame));
    ws.on('message', (text) => {
      const frame: ReceivedFrame = { ...JSON.parse(String(text)), send, ws };
      const index = frames.filter(({ op }) => op === frame.op).length;
      frames.push(frame);
      if (script(frame, index) === true) accept(frame);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const client = new RollcallClient({ url, token: () => 'a.b.c', ...options });
  try {
    const of = (wanted: string) => frames.filter(({ op }) => op === wanted);
    await use({ client, frames, opened: () => opened, open: () => sockets.clients.size, of });
  } finally {
    await client.close();
    for (const connection of connections) connection.destroy();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
}

/** Answers that the frame took effect. A watch gets a snapshot of nobody. */
export function accept({ op, ref, send }: ReceivedFrame): void {
  send({ ref, ok: true });
  if (op === 'watch') send({ watch: ref, ...SNAPSHOT });
}
