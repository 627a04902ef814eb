import type { ClientWriter } from '../../core/caller.ts';
import type { ClientSessions } from '../../core/client-session.ts';
import type { Clock } from '../../core/clock.ts';
import type { PresenceChange } from '../../core/presence-change.ts';

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
  /** The last update since then, and the promise that answers all that it stands for. */
  waiting: { update: Update; readonly written: PromiseWithResolvers<void> } | null;
}

/**
 * The durable presence of one socket: of each region one write a second, that of the last update. An update that another one
 * replaces is answered with it. As many regions are remembered as frames come within a second.
 */
export class DurableUpdates {
  readonly #clients: ClientSessions;
  readonly #clock: Clock;
  readonly #regions = new Map<string, Region>();
  #stop: (() => void) | null = null;

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
    if (region === undefined || !isRecent(region, now)) {
      this.#regions.set(key, { writtenAt: now, waiting: null });
      return this.#write(update);
    }
    const written = Promise.withResolvers<void>();
    region.waiting = { update, written };
    return written.promise;
  }

  /** Writes what waits now. */
  close(): void {
    for (const region of this.#regions.values()) this.#flush(region);
    this.#end();
  }

  #writeDue(): void {
    const now = this.#clock.now();
    for (const [key, region] of this.#regions) {
      if (isRecent(region, now)) continue;
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
    region.waiting = null;
    if (waiting !== null) this.#write(waiting.update).then(waiting.written.resolve, waiting.written.reject);
  }

  async #write({ writer, change }: Update): Promise<void> {
    await this.#clients.putPresence(writer, change);
  }

  #end(): void {
    this.#stop?.();
    this.#stop = null;
  }
}

/** Also after the clock was set back. */
const isRecent = ({ writtenAt }: Region, now: number) => Math.abs(now - writtenAt) < INTERVAL_MS;
