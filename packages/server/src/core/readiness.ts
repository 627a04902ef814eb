import type { Broker } from '../broker/broker.ts';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { Store } from '../store/store.ts';

interface Ports {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly broker: Broker;
}

/** Whether this process should get requests. */
export class Readiness {
  readonly #ports: Ports;
  #isStopping = false;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The process is about to stop: it is not ready any more. */
  stop(): void {
    this.#isStopping = true;
  }

  /** The ports that do not answer; none when all is well. */
  async failing(): Promise<string[]> {
    const { store, presence, broker } = this.#ports;
    const checks = [
      ['store', store],
      ['presence', presence],
      ['broker', broker],
    ] as const;
    const pings = await Promise.allSettled(checks.map(([, port]) => port.ping()));
    return checks.filter((_, index) => pings[index]?.status === 'rejected').map(([name]) => name);
  }
}
