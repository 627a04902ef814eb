import process from 'node:process';
import type { Notification } from './broker.ts';

type Listener = (change: Notification) => void;

/** A change, and the subscriptions that were there when it was published. */
interface Delivery {
  readonly change: Notification;
  readonly to: readonly { readonly listener: Listener }[];
}

/** The listeners of this process, the same for every driver. */
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

  /** Calls all listeners. A change that a listener publishes is delivered after this one has reached all of them. */
  notify(change: Notification): void {
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
        // Neither the other listeners nor the publisher can handle it.
        process.emitWarning(error instanceof Error ? error : String(error));
      }
    }
  }
}
