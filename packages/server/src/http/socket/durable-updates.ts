import type { ClientWriter } from '../../core/caller.ts';
import type { ClientSessions } from '../../core/clients/client-session.ts';
import type { Clock } from '../../core/clock.ts';
import type { PresenceChange } from '../../core/presence/presence-change.ts';

/** How often the durable location of one region is written, in milliseconds. */
const INTERVAL_MS = 1_000;
/** How often waiting updates are checked, in milliseconds; the timer runs only while one waits. */
const CHECK_MS = 50;

interface Update {
  readonly writer: ClientWriter;
  readonly change: PresenceChange;
}

interface Region {
  writtenAt: number;
  /** A slow store may take longer than the interval: another write at once could be stored before this one. */
  isWriting: boolean;
  /** The last update since the write, and the promise that answers all that it stands for. */
  waiting: { update: Update; readonly written: PromiseWithResolvers<void> } | null;
}

/**
 * The durable presence of one socket: of each region one write a second and one at a time, that of the last update. An update that
 * another one replaces is answered with it. As many regions are remembered as frames come within a second.
 */
export class DurableUpdates {
  readonly #clients: ClientSessions;
  readonly #clock: Clock;
  readonly #regions = new Map<string, Region>();
  #stop: (() => void) | null = null;
  #isClosed = false;

  constructor({ clients, clock }: { readonly clients: ClientSessions; readonly clock: Clock }) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /** Resolves when the update, or one that replaced it, is stored. @throws ServiceError like every update of a client */
  put(writer: ClientWriter, change: PresenceChange): Promise<void> {
    const now = this.#clock.now();
    const key = JSON.stringify([change.groupId, change.region]);
    const region = this.#regions.get(key);
    const update = { writer, change };
    if (region?.waiting != null) {
      region.waiting.update = update;
      return region.waiting.written.promise;
    }
    this.#stop ??= this.#clock.every(CHECK_MS, () => this.#writeDue());
    if (region === undefined || !isBusy(region, now)) {
      const begun: Region = { writtenAt: now, isWriting: false, waiting: null };
      this.#regions.set(key, begun);
      return this.#write(begun, update);
    }
    const written = Promise.withResolvers<void>();
    region.waiting = { update, written };
    return written.promise;
  }

  /** Writes what waits, at once or after the write of its region that is under way. */
  close(): void {
    this.#isClosed = true;
    for (const region of this.#regions.values()) this.#flush(region);
    this.#end();
  }

  #writeDue(): void {
    const now = this.#clock.now();
    for (const [key, region] of this.#regions) {
      if (isBusy(region, now)) continue;
      if (region.waiting === null) {
        this.#regions.delete(key);
      } else {
        region.writtenAt = now;
        this.#flush(region);
      }
    }
    if (this.#regions.size === 0) this.#end();
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

  #end(): void {
    this.#stop?.();
    this.#stop = null;
  }
}

/** Whether the next write waits. Also after the clock was set back. */
const isBusy = ({ writtenAt, isWriting }: Region, now: number) =>
  isWriting || Math.abs(now - writtenAt) < INTERVAL_MS;
