import type { RollcallClient } from '@rollcall/client';
import { LiveStore, type Source } from './live-store.ts';

interface AnyStore {
  readonly isForgotten: boolean;
  resume(): void;
  reset(): void;
}

const STORES = new WeakMap<RollcallClient, Map<string, AnyStore>>();

/**
 * The store of a client under a key, so that all components share one stream. Memory: the stores in use, those that were
 * in use in the last ten seconds, and those that are needed.
 */
export function storeOf<State>(
  client: RollcallClient,
  key: unknown,
  initial: State,
  source: Source<State>,
  isNeeded: (state: State) => boolean = () => false,
): LiveStore<State> {
  const stores = STORES.get(client) ?? storesOf(client);
  const text = stableText(key);
  const known = stores.get(text);
  if (known?.isForgotten === false) return known as unknown as LiveStore<State>;
  for (const [other, store] of stores) if (store.isForgotten) stores.delete(other);
  const store = new LiveStore(initial, source, isNeeded);
  stores.set(text, store);
  return store;
}

function storesOf(client: RollcallClient): Map<string, AnyStore> {
  const stores = new Map<string, AnyStore>();
  STORES.set(client, stores);
  onConnectedAgain(client, () => {
    for (const store of stores.values()) store.resume();
  });
  client.status.subscribe(() => {
    const { state, reason } = client.status.get();
    // After close(), which has no reason, what the user has read is not shown any more.
    if (state === 'closed' && !reason) for (const store of stores.values()) store.reset();
  });
  return stores;
}

/**
 * Calls the listener each time the client is connected again after the connection was lost or closed: what had ended with an error
 * may be mended by then. Returns the function that unsubscribes.
 */
export function onConnectedAgain({ status }: RollcallClient, listener: () => void): () => void {
  let isLost = false;
  const update = () => {
    const { state } = status.get();
    // `connecting` is no loss: over HTTP, each stream is that before it is open.
    if (state !== 'open') isLost ||= state !== 'connecting';
    else if (isLost) {
      isLost = false;
      listener();
    }
  };
  update();
  return status.subscribe(update);
}

/** JSON with the keys of each object in order, so that equal locations are the same key. */
export const stableText = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
