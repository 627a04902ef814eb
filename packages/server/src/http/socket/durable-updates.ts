import type { ClientWriter } from '../../core/caller.ts';
import type { ClientSessions } from '../../core/clients/client-session.ts';
import type { Clock } from '../../core/clock.ts';
import type { PresenceChange } from '../../core/presence/presence-change.ts';

/** How often the durable location of one region is written at most, in milliseconds. */
const INTERVAL_MS = 1_000;

interface Update {
  readonly writer: ClientWriter;
  readonly change: PresenceChange;
}

interface Region {
  /** A slow store may take longer than the interval: another write at once could be stored before this one. */
  isWriting: boolean;
  /** The last update since the write, and the promise that answers all that it stands for. */
  waiting: { update: Update; readonly written: PromiseWithResolvers<void> } | null;
  /** Ends the timer of its intervals. */
  stop(): void;
}

/**
 * The durable presence of one socket: of each region one write a second and one at a time, that of the last update. An update that
 * another one replaces is answered with it. As many regions are remembered as frames come within a second.
 */
export class DurableUpdates {
  readonly #clients: ClientSessions;
  readonly #clock: Clock;
  readonly #regions = new Map<string, Region>();
  #isClosed = false;

  constructor({ clients, clock }: { readonly clients: ClientSessions; readonly clock: Clock }) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /** Resolves when the update, or one that replaced it, is stored. @throws ServiceError like every update of a client */
  put(writer: ClientWriter, change: PresenceChange): Promise<void> {
    const update = { writer, change };
    const key = JSON.stringify([change.groupId, change.region]);
    const region = this.#regions.get(key);
    if (region === undefined) return this.#write(this.#begin(key), update);
    region.waiting ??= { update, written: Promise.withResolvers<void>() };
    region.waiting.update = update;
    const { promise } = region.waiting.written;
    if (this.#isClosed) this.#flush(region);
    return promise;
  }

  /** Writes what waits, at once or after the write of its region that is under way. */
  close(): void {
    this.#isClosed = true;
    for (const region of this.#regions.values()) {
      region.stop();
      this.#flush(region);
    }
  }

  /** A region for whose next write a second has to pass. */
  #begin(key: string): Region {
    const region: Region = { isWriting: false, waiting: null, stop: () => {} };
    this.#regions.set(key, region);
    if (this.#isClosed) return region;
    region.stop = this.#clock.every(INTERVAL_MS, () => {
      if (region.waiting !== null || region.isWriting) {
        this.#flush(region);
        return;
      }
      region.stop();
      this.#regions.delete(key);
    });
    return region;
  }

  #flush(region: Region): void {
    const { waiting } = region;
    if (waiting === null || region.isWriting) return;
    region.waiting = null;
    this.#write(region, waiting.update).then(waiting.written.resolve, waiting.written.reject);
  }

  async #write(region: Region, { writer, change }: Update): Promise<void> {
    region.isWriting = true;
    try {
      await this.#clients.putPresence(writer, change);
    } finally {
      region.isWriting = false;
      if (this.#isClosed) this.#flush(region);
    }
  }
}
