import { within } from '../http/deadline.ts';
import type { CallOptions, Outgoing, Transport } from '../http/transport.ts';
import type { RollcallError } from '../rollcall-error.ts';
import type { AnnouncedLocation } from './announced-location.ts';

/** A presence or an absence, as it is sent. */
export type LocationUpdate = AnnouncedLocation & { readonly absent?: true };

/** How long an update waits for the socket. */
const TIMEOUT_MS = 10_000;

/** Sends the updates of one user in one group: through the client's socket where it has one, and otherwise as requests. */
export class PresenceUpdates {
  /** Whether the last update went through the socket: the server holds it until that closes, without refreshing. */
  isHeld: boolean;
  readonly #transport: Transport;
  readonly #groupID: string | undefined;
  readonly #path: () => string;

  constructor(transport: Transport, groupID: string | undefined, path: () => string) {
    this.#transport = transport;
    this.#groupID = groupID;
    this.#path = path;
    this.isHeld = transport.link?.isUsed === true;
  }

  /** Keeps the socket open. Calls the listener whenever a socket has logged in, which may hold nothing yet. Idempotent. */
  open(onOpen: () => void): void {
    this.#transport.link?.acquire(this, onOpen);
  }

  close(): void {
    const { link, status } = this.#transport;
    link?.release(this);
    status.report(this, null);
  }

  /** Waits for the socket, where updates go through it. @throws RollcallError */
  async ready({ signal }: CallOptions): Promise<void> {
    const { link, closing } = this.#transport;
    if (link) this.isHeld = await within(TIMEOUT_MS, [signal, closing], link.ready());
  }

  /** @throws RollcallError */
  async send(update: LocationUpdate, options: CallOptions): Promise<void> {
    const { link, closing, status } = this.#transport;
    await this.ready(options);
    if (this.isHeld && link) {
      status.report(this, null);
      const { absent, ...more } = update;
      const frame = { op: absent ? 'absent' : 'present', groupID: this.#groupID, ...more };
      return within(TIMEOUT_MS, [options.signal, closing], link.update(frame));
    }
    try {
      await this.#transport.send(this.#request(update), options);
      status.report(this, 'open');
    } catch (error) {
      // The user is not seen where they are: a socket reports this too.
      this.#transport.failed(this, error as RollcallError, this.#groupID);
      throw error;
    }
  }

  /** Sends without waiting, from a page that unloads. */
  dispatch(update: LocationUpdate): void {
    this.#transport.dispatch(this.#request(update));
  }

  #request(update: LocationUpdate): Outgoing {
    const { connectionID } = this.#transport;
    return { method: 'PUT', path: this.#path(), body: { groupID: this.#groupID, connectionID, ...update } };
  }
}
