import type { Store } from '../store/store.ts';

/**
 * Asks the store for the service's own key once, because it never changes, and because a stranger's token must not
 * cost the store anything. A failure to get it is not kept.
 */
export function serviceKeyOf(store: Store): () => Promise<Uint8Array> {
  let key: Promise<Uint8Array> | null = null;
  const ask = () =>
    store.serviceKey().catch((error: unknown) => {
      key = null;
      throw error;
    });
  return () => {
    key ??= ask();
    return key;
  };
}
