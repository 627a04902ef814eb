import {
  Agent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream';

export interface RoundRobin {
  readonly url: string;
  /** Cuts all connections. */
  close(): Promise<void>;
}

/** A little longer than the servers keep an idle connection: who has one to the balancer never meets a closed one. */
const KEEP_ALIVE_MS = 75_000;

/**
 * A balancer for trying and for tests. Requests go to the servers in turn, those of one connection too, so that a client
 * meets another server each time. Answers stream through as they come. A server that takes no connection is passed over;
 * a request that may have reached one is not sent again, unless it only reads.
 */
export async function startRoundRobin(targets: readonly string[], port: number): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    const first = turn % targets.length;
    turn += 1;
    forward({ incoming, outgoing, agent }, [...targets.slice(first), ...targets.slice(0, first)]);
  });
  await listen(server, port);
  const { address, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        agent.destroy();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly agent: Agent;
}

/** Hands the request to the first of the targets that takes it, and its answer back. */
function forward(exchange: Exchange, [target, ...others]: readonly string[]): void {
  const { incoming, outgoing, agent } = exchange;
  if (target === undefined) {
    refuse(outgoing, 'no server takes connections');
    return;
  }
  const { hostname, port } = new URL(target);
  const { method, url: path } = incoming;
  const upstream = request({ hostname, port, method, path, agent, headers: requestHeaders(incoming) });
  let taken = false;
  onConnected(upstream, () => {
    taken = true;
    // A body that was read for a server that failed is an empty one: see isRead.
    if (incoming.readableEnded) upstream.end();
    else incoming.pipe(upstream);
  });
  upstream.on('response', (answer) => passBack(answer, outgoing));
  upstream.on('error', () => {
    if (outgoing.destroyed) return;
    if (outgoing.headersSent) outgoing.destroy();
    else if (!taken || isRead(incoming)) forward(exchange, others);
    else refuse(outgoing, 'the server that had the request is gone');
  });
  // A client that leaves takes its request along.
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) upstream.destroy();
  });
}

function onConnected(upstream: ClientRequest, begin: () => void): void {
  upstream.once('socket', (socket: Socket) => {
    if (socket.connecting) socket.once('connect', begin);
    else begin();
  });
}

/** Whether the request can be sent twice: it changes nothing and has no body that may be half gone. */
const isRead = ({ method, headers }: IncomingMessage) =>
  (method === 'GET' || method === 'HEAD') &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined;

function passBack(answer: IncomingMessage, outgoing: ServerResponse): void {
  const headers = withoutHopByHop(answer.rawHeaders, [...HOP_BY_HOP, 'transfer-encoding']);
  outgoing.writeHead(answer.statusCode as number, answer.statusMessage as string, headers);
  // A stream of events may have none for a while.
  outgoing.flushHeaders();
  pipeline(answer, outgoing, () => {});
}

function refuse(outgoing: ServerResponse, message: string): void {
  outgoing.writeHead(502, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify({ error: 'error', message }));
}

/** What is about one connection, not about the message. The framing of a request's body stays as the client chose it. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'expect'];

function requestHeaders({ rawHeaders, headers, socket }: IncomingMessage): string[] {
  const before = headers['x-forwarded-for'];
  const forwardedFor = before === undefined ? socket.remoteAddress : `${before}, ${socket.remoteAddress}`;
  return [
    ...withoutHopByHop(rawHeaders, [...HOP_BY_HOP, 'x-forwarded-for']),
    'x-forwarded-for',
    `${forwardedFor}`,
  ];
}

/** Names and values in turn, as Node has them raw. */
function withoutHopByHop(raw: readonly string[], left: readonly string[]): string[] {
  return raw.filter((_, index) => !left.includes((raw[index - (index % 2)] as string).toLowerCase()));
}
