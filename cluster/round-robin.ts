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

/** Longer than the servers keep idle connections open, so that no client sees the balancer close one first. */
const KEEP_ALIVE_MS = 75_000;

/**
 * A load balancer for demonstrations and tests. Each request goes to the next server, also within one connection, and
 * responses are streamed. A server that accepts no connection is skipped; a request that may have reached a server is
 * sent to another one only if it is a read.
 */
export async function startRoundRobin(targets: readonly string[], port: number): Promise<RoundRobin> {
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, outgoing) => {
    const first = next % targets.length;
    next += 1;
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

/** Forwards the request to the first target that accepts a connection, and its response to the client. */
function forward(exchange: Exchange, [target, ...others]: readonly string[]): void {
  const { incoming, outgoing, agent } = exchange;
  if (target === undefined) {
    respondBadGateway(outgoing, 'no server accepts connections');
    return;
  }
  const { hostname, port } = new URL(target);
  const { method, url: path } = incoming;
  const upstream = request({ hostname, port, method, path, agent, headers: requestHeaders(incoming) });
  let isForwarded = false;
  onConnected(upstream, () => {
    isForwarded = true;
    // Only requests without a body are forwarded a second time: see isRead.
    if (incoming.readableEnded) upstream.end();
    else incoming.pipe(upstream);
  });
  upstream.on('response', (response) => passBack(response, outgoing));
  upstream.on('error', () => {
    if (outgoing.destroyed) return;
    if (outgoing.headersSent) outgoing.destroy();
    else if (!isForwarded || isRead(incoming)) forward(exchange, others);
    else respondBadGateway(outgoing, 'the server failed while it handled the request');
  });
  // The request is aborted when its client disconnects.
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

/** Whether the request can be sent twice: it changes nothing, and it has no body, which would be partly consumed. */
const isRead = ({ method, headers }: IncomingMessage) =>
  (method === 'GET' || method === 'HEAD') &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined;

function passBack(response: IncomingMessage, outgoing: ServerResponse): void {
  const headers = withoutHopByHop(response.rawHeaders, [...HOP_BY_HOP, 'transfer-encoding']);
  outgoing.writeHead(response.statusCode as number, response.statusMessage as string, headers);
  // An event stream can be silent for a while.
  outgoing.flushHeaders();
  pipeline(response, outgoing, () => {});
}

function respondBadGateway(outgoing: ServerResponse, message: string): void {
  outgoing.writeHead(502, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify({ error: 'error', message }));
}

/** Headers of one connection, not of the message. Requests keep `transfer-encoding`: their bodies are forwarded as framed. */
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

/** `raw` alternates names and values, as Node's `rawHeaders`. */
function withoutHopByHop(raw: readonly string[], removed: readonly string[]): string[] {
  return raw.filter((_, index) => !removed.includes((raw[index - (index % 2)] as string).toLowerCase()));
}
