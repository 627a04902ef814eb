import { Connection } from './connection.ts';
import type { PagedList } from './http/paged-list.ts';
import { path } from './http/path.ts';
import type { CallOptions, ConnectionOptions } from './http/transport.ts';
import type { Member, Viewer } from './protocol.ts';
import { listAt } from './resources/list-at.ts';
import { ViewerPresence } from './resources/viewer-presence.ts';
import { ViewerThreads } from './resources/viewer-threads.ts';
import { SocketLink } from './socket/socket-link.ts';
import { loadPageStreams } from './streams/load-page-streams.ts';

/** How a page connects. */
export interface ClientOptions extends ConnectionOptions {
  /** False: watch and announce over HTTP alone. Default: through one socket, and over HTTP where none can be opened. */
  readonly socket?: boolean | undefined;
}

/** The client of a browser or an app, with a client token of one user. */
export class RollcallClient extends Connection {
  readonly presence: ViewerPresence = new ViewerPresence(this.transport, this.announcements);
  readonly threads: ViewerThreads = new ViewerThreads(this.transport, () => '/v1/client/threads');

  /** Sends no request. @throws TypeError when `url` is not a URL */
  constructor({ socket = true, ...options }: ClientOptions) {
    super(options, loadPageStreams);
    // A page that is left holds its locations for two seconds, until the next one has its own. No secret: it counts for its own user alone.
    this.transport.connectionID = `${Math.random()}${Math.random()}`;
    // Node 20 has none.
    if (socket && globalThis.WebSocket) this.transport.link = new SocketLink(this.transport);
  }

  /** The user of the token, and their active groups. @throws RollcallError */
  async viewer(options?: CallOptions): Promise<Viewer> {
    return this.transport.json('GET', '/v1/client/viewer', options);
  }

  /** The members of one of the viewer's groups, in order of ID. */
  members(groupID: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.transport, () => path`/v1/client/groups/${groupID}/members`, 'users', options);
  }
}
