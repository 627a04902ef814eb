import { Deadline } from '../http/deadline.ts';
import type { CallOptions, Outgoing, Transport } from '../http/transport.ts';
import type { RollcallError } from '../rollcall-error.ts';
import type { AnnouncedLocation } from './announced-location.ts';

/** A presence or an absence, as it is sent. */
export type LocationUpdate = AnnouncedLocation & { readonly absent?: true };

/** How long an update waits for the socket. */
const TIMEOUT_MS = 10_000;

/** Sends the updates of one user in one group: through the client's socket where it has one, and otherwise as requests. */
export class PresenceUpdates {
  /** Called whenever a socket has logged in, which may hold nothing yet. */
  onOpen: () => void = () => {};
  /** Whether the last update went through the socket. */
  isHeld: boolean;
  readonly #transport: Transport;
  readonly #groupID: string | undefined;
  readonly #path: () => string;
  #release: () => void = () => {};

  constructor(transport: Transport, groupID: string | undefined, path: () => string) {
    this.#transport = transport;
    this.#groupID = groupID;
    this.#path = path;
    this.isHeld = transport.link?.isUsed === true;
  }

  /** Keeps the socket open. Idempotent. */
  open(): void {
    const { link } = this.#transport;
    if (link === undefined) return;
    this.#release();
    link.acquire(this);
    this.#release = link.onOpen(() => this.onOpen());
  }

  close(): void {
    const { link, status } = this.#transport;
    this.#release();
    link?.release(this);
    status.report(this, null);
  }

  /** @throws RollcallError */
  async send({ absent, ...update }: LocationUpdate, options: CallOptions): Promise<void> {
    const { link, closing, status } = this.#transport;
    if (link !== undefined) {
      const deadline = new Deadline(TIMEOUT_MS, [options.signal, closing]);
      try {
        this.isHeld = await deadline.race(link.ready());
        const op = absent === true ? 'absent' : 'present';
        if (this.isHeld) {
          status.report(this, null);
          return await deadline.race(link.update({ op, groupID: this.#groupID, ...update }));
        }
      } finally {
        deadline.end();
      }
    }
    try {
      await this.#transport.send(this.#request(absent ? { ...update, absent } : update), options);
      status.report(this, 'open');
    } catch (error) {
      // The user is not seen where they are: a socket reports this too.
      if ((error as RollcallError).retryable) status.report(this, 'reconnecting', error as RollcallError);
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
