import type { Broker, Change } from '../broker.ts';

/** The embedded Broker (see the port): one process, so telling everybody is calling them. */
export function createMemoryBroker(): Broker {
  const listeners = new Set<(change: Change) => void>();
  return {
    async ping() {},
    async close() {
      listeners.clear();
    },
    async publish(change) {
      for (const listener of [...listeners]) {
        try {
          listener(change);
        } catch {
          // A listener that throws harms no other, and the publisher neither.
        }
      }
    },
    subscribe(listener) {
      const own = (change: Change) => listener(change);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}
