/** A TCP proxy between a process and a server. It delays new connections, cuts connections, also at an answer, and changes what is sent. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export class SlowProxy {
  /** How long each new connection is delayed, in milliseconds. */
  delayMs = 0;
  /** Whether a connection is cut instead of giving it this part of an answer. */
  cutsAt: (answer: Buffer) => boolean = () => false;
  /** What the server receives instead of what was sent together. */
  rewrites: (sent: Buffer) => Buffer = (sent) => sent;
  #isCut = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      this.#track(near);
      if (this.#isCut) {
        near.destroy();
        return;
      }
      setTimeout(() => {
        const far = connect(Number(target.port || 5432), target.hostname);
        this.#track(far);
        far.on('data', (answer: Buffer) => {
          if (this.cutsAt(answer)) near.destroy();
        });
        const rewritten = new Transform({
          transform: (sent: Buffer, _, done) => done(null, this.rewrites(sent)),
        });
        near.pipe(rewritten).pipe(far).pipe(near);
        near.once('close', () => far.destroy());
        far.once('close', () => near.destroy());
      }, this.delayMs);
    });
  }

  /** Runs `use` with a proxy to the server of `url`, and the URL of the proxy. */
  static async with(url: string, use: (proxy: SlowProxy, url: string) => Promise<void>): Promise<void> {
    const through = new URL(url);
    const proxy = new SlowProxy(new URL(url));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    through.port = String((proxy.#server.address() as AddressInfo).port);
    try {
      await use(proxy, through.href);
    } finally {
      proxy.#server.close();
      for (const socket of proxy.#sockets) socket.destroy();
    }
  }

  /** Cuts all connections, and each new one, until {@link mend}. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
