import process from 'node:process';
import type { Broker, Change } from '../broker.ts';

type Listener = (change: Change) => void;

/** A change on its way, and who subscribed before it was published. */
interface Delivery {
  readonly change: Change;
  readonly to: readonly { readonly listener: Listener }[];
}

/** The embedded Broker (see the port): one process, so telling everybody is calling them. */
export function createMemoryBroker(): Broker {
  return new MemoryBroker();
}

class MemoryBroker implements Broker {
  readonly #subscriptions = new Set<{ readonly listener: Listener }>();
  readonly #deliveries: Delivery[] = [];

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    this.#subscriptions.clear();
  }

  async publish(change: Change): Promise<void> {
    this.#deliveries.push({ change, to: [...this.#subscriptions] });
    // A listener that publishes joins the queue of the publish under way, or those after it would hear its change first.
    if (this.#deliveries.length > 1) return;
    for (let delivery = this.#deliveries[0]; delivery !== undefined; delivery = this.#deliveries[0]) {
      this.#deliver(delivery);
      this.#deliveries.shift();
    }
  }

  subscribe(listener: Listener): () => void {
    const subscription = { listener };
    this.#subscriptions.add(subscription);
    return () => void this.#subscriptions.delete(subscription);
  }

  #deliver({ change, to }: Delivery): void {
    for (const subscription of to) {
      if (!this.#subscriptions.has(subscription)) continue;
      try {
        subscription.listener(change);
      } catch (error) {
        // Neither the other listeners nor the publisher can do anything about it.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }
}
