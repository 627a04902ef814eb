import type { Broker } from '../broker/broker.ts';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { Store } from '../store/store.ts';

interface Ports {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly broker: Broker;
}

/** Whether the engine answers. */
export class Readiness {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
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
