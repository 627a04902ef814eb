/** A server whose socket a test scripts: for answers, closes and delays that a real server gives rarely. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ClientOptions, RollcallClient } from '../../src/index.ts';

/** A frame as the server received it. */
export interface ReceivedFrame {
  readonly op: string;
  readonly ref: number;
  readonly token?: string;
  readonly watch?: number;
  readonly location?: Readonly<Record<string, string>>;
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

const SNAPSHOT = { event: 'snapshot', id: 'e-0', data: { users: [] } };

/** Runs `use` with a client of a scripted server, and closes both. */
export async function withScriptedSocket(
  script: SocketScript,
  use: (scripted: ScriptedSocket) => Promise<void>,
  options: Partial<ClientOptions> = {},
): Promise<void> {
  const frames: ReceivedFrame[] = [];
  const http = createServer((_, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ server: http });
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
  const client = new RollcallClient({ url, token: () => 't', ...options });
  try {
    const of = (wanted: string) => frames.filter(({ op }) => op === wanted);
    await use({ client, frames, opened: () => opened, open: () => sockets.clients.size, of });
  } finally {
    await client.close();
    for (const ws of sockets.clients) ws.terminate();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
}

/** Answers that the frame took effect. A watch gets a snapshot of nobody. */
export function accept({ op, ref, send }: ReceivedFrame): void {
  send({ ref, ok: true });
  if (op === 'watch') send({ watch: ref, ...SNAPSHOT });
}
