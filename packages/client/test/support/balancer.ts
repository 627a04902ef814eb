/** A load balancer for TCP connections, which a test turns to another server, or cuts off. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

interface Connection {
  readonly near: Socket;
  readonly far: Socket;
}

export interface Balancer {
  readonly url: string;
  /** Where new connections go: a URL, or null for nowhere. */
  target: string | null;
  /** All connections so far; a test may take some away. */
  readonly connections: Connection[];
  /** Resets all connections, and each new one until there is another target. */
  cut(): void;
}

export async function withBalancer<Result>(use: (balancer: Balancer) => Promise<Result>): Promise<Result> {
  const sides: Socket[] = [];
  const server = createServer((near) => {
    near.on('error', () => {});
    sides.push(near);
    if (balancer.target === null) return near.resetAndDestroy();
    const { hostname, port } = new URL(balancer.target);
    const far = connect(Number(port), hostname);
    sides.push(far);
    far.on('error', () => near.destroy());
    far.on('close', () => near.end()).on('data', (bytes) => near.write(bytes));
    near.on('close', () => far.end()).on('data', (bytes) => far.write(bytes));
    balancer.connections.push({ near, far });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const balancer: Balancer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: null,
    connections: [],
    cut() {
      balancer.target = null;
      for (const side of sides.splice(0)) side.resetAndDestroy();
    },
  };
  try {
    return await use(balancer);
  } finally {
    server.close();
    for (const side of sides) side.destroy();
  }
}
