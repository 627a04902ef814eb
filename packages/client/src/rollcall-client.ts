import type { PagedList } from './http/paged-list.ts';
import { path } from './http/path.ts';
import { type CallOptions, type ConnectionOptions, Transport } from './http/transport.ts';
import { Announcements } from './presence/announcements.ts';
import type { Member, Viewer } from './protocol.ts';
import { listAt } from './resources/list-at.ts';
import { ViewerPresence } from './resources/viewer-presence.ts';

/** A project as one of its users sees it: with a client token, in a browser or an app. */
export class RollcallClient {
  readonly presence: ViewerPresence;
  readonly #transport: Transport;
  readonly #announcements = new Announcements();

  /** Sends nothing yet. @throws TypeError when `url` is no URL */
  constructor(options: ConnectionOptions) {
    this.#transport = new Transport(options);
    this.presence = new ViewerPresence(this.#transport, this.#announcements);
  }

  /** Who the token says is here, and their active groups. @throws RollcallError */
  async viewer(options?: CallOptions): Promise<Viewer> {
    return this.#transport.json({ method: 'GET', path: '/v1/client/viewer' }, options);
  }

  /** Who belongs to a group of the viewer's, in order of ID. */
  members(groupID: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.#transport, () => path`/v1/client/groups/${groupID}/members`, 'users', options);
  }

  /** Announcements leave, streams end, and what is still under way is `aborted`. Nothing of it keeps a process alive. */
  async close(): Promise<void> {
    await this.#announcements.leave();
    this.#transport.close();
  }
}
