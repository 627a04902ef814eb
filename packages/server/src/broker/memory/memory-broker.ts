import type { Broker, Notification } from '../broker.ts';
import { BrokerCounts } from '../broker-counts.ts';
import { ChangeListeners } from '../change-listeners.ts';

/** The embedded Broker (see the port): one process, so publishing calls the listeners. */
export function createMemoryBroker(): Broker {
  return new MemoryBroker();
}

class MemoryBroker implements Broker {
  readonly #counts = new BrokerCounts();
  readonly metrics = this.#counts.metrics;
  readonly #listeners = new ChangeListeners();

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  async publish(change: Notification): Promise<void> {
    this.#counts.published(change);
    this.#listeners.notify(change);
  }

  /** There is no other process. */
  follow(): () => void {
    return () => {};
  }

  subscribe(listener: (change: Notification) => void): () => void {
    return this.#listeners.add(listener);
  }
}
