import process from 'node:process';
import type { Change } from './broker.ts';

type Listener = (change: Change) => void;

/** A change on its way, and who subscribed before it was published. */
interface Delivery {
  readonly change: Change;
  readonly to: readonly { readonly listener: Listener }[];
}

/** Who is to be told on this process, by every driver in the same way. */
export class ChangeListeners {
  readonly #subscriptions = new Set<{ readonly listener: Listener }>();
  readonly #deliveries: Delivery[] = [];

  add(listener: Listener): () => void {
    const subscription = { listener };
    this.#subscriptions.add(subscription);
    return () => void this.#subscriptions.delete(subscription);
  }

  clear(): void {
    this.#subscriptions.clear();
  }

  /** Calls everybody; a change that comes in such a call is told when everybody has heard the one before. */
  tell(change: Change): void {
    this.#deliveries.push({ change, to: [...this.#subscriptions] });
    if (this.#deliveries.length > 1) return;
    for (let delivery = this.#deliveries[0]; delivery !== undefined; delivery = this.#deliveries[0]) {
      this.#deliver(delivery);
      this.#deliveries.shift();
    }
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
