import type { ConnectionStatus, Observable } from './connection-status.ts';
import { type ConnectionOptions, Transport } from './http/transport.ts';
import { Announcements } from './presence/announcements.ts';
import type { LoadStreams } from './streams/http-stream.ts';

/** The base of both clients: the connection to a server. */
export abstract class Connection {
  /** @internal */
  protected readonly transport: Transport;
  /** @internal */
  protected readonly announcements: Announcements;

  /** Whether the client is connected: of its watches, the state of the worst. */
  readonly status: Observable<ConnectionStatus>;

  /** Sends no request. @throws TypeError when `url` is not a URL */
  constructor(options: ConnectionOptions, loadStreams: LoadStreams) {
    this.transport = new Transport(options, loadStreams);
    this.status = this.transport.status;
    this.announcements = new Announcements(this.transport);
  }

  /** Announcements leave, streams end, and pending calls reject with `aborted`. After it the process can end. */
  async close(): Promise<void> {
    await this.announcements.leave();
    this.transport.close();
    // What was announced meanwhile.
    await this.announcements.leave();
  }
}
