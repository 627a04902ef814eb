import { once } from '../concurrency/once.ts';
import type { Store } from '../store/store.ts';

/** Reads the service's own key once: it never changes, and a token of unknown origin must not cost a read of the store. */
export const serviceKeyOf = (store: Store): (() => Promise<Uint8Array>) =>
  once(() => store.sessions.serviceKey());
