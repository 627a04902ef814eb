import { Connection } from './connection.ts';
import type { PagedList } from './http/paged-list.ts';
import { path } from './http/path.ts';
import type { CallOptions } from './http/transport.ts';
import type { Member, Viewer } from './protocol.ts';
import { listAt } from './resources/list-at.ts';
import { ViewerPresence } from './resources/viewer-presence.ts';
import { ViewerThreads } from './resources/viewer-threads.ts';

/** The client of a browser or an app, with a client token of one user. */
export class RollcallClient extends Connection {
  readonly presence: ViewerPresence = new ViewerPresence(this.transport, this.announcements);
  readonly threads: ViewerThreads = new ViewerThreads(this.transport, () => '/v1/client/threads');

  /** The user of the token, and their active groups. @throws RollcallError */
  async viewer(options?: CallOptions): Promise<Viewer> {
    return this.transport.json('GET', '/v1/client/viewer', options);
  }

  /** The members of one of the viewer's groups, in order of ID. */
  members(groupID: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.transport, () => path`/v1/client/groups/${groupID}/members`, 'users', options);
  }
}
