import type { PagedList } from './http/paged-list.ts';
import { path } from './http/path.ts';
import { type CallOptions, type ConnectionOptions, Transport } from './http/transport.ts';
import { Announcements } from './presence/announcements.ts';
import type { Member, Viewer } from './protocol.ts';
import { listAt } from './resources/list-at.ts';
import { ViewerPresence } from './resources/viewer-presence.ts';

/** The client of a browser or an app, with a client token of one user. */
export class RollcallClient {
  readonly presence: ViewerPresence;
  readonly #transport: Transport;
  readonly #announcements: Announcements;

  /** Sends no request. @throws TypeError when `url` is not a URL */
  constructor(options: ConnectionOptions) {
    this.#transport = new Transport(options);
    this.#announcements = new Announcements(this.#transport);
    this.presence = new ViewerPresence(this.#transport, this.#announcements);
  }

  /** The user of the token, and their active groups. @throws RollcallError */
  async viewer(options?: CallOptions): Promise<Viewer> {
    return this.#transport.json({ method: 'GET', path: '/v1/client/viewer' }, options);
  }

  /** The members of one of the viewer's groups, in order of ID. */
  members(groupID: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.#transport, () => path`/v1/client/groups/${groupID}/members`, 'users', options);
  }

  /** Announcements leave, streams end, and pending calls reject with `aborted`. After it the process can end. */
  async close(): Promise<void> {
    await this.#announcements.leave();
    this.#transport.close();
  }
}
