/** Stores on a PostgreSQL database of their own. */
import { DURABLE_BOUNDS } from '../../src/store/durable-bounds.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { withDatabase } from '../support/postgres.ts';

export const withPostgresStore = (use: (store: Store, url: string) => Promise<void>): Promise<void> =>
  withPostgresStores(1, ([store], url) => use(store as Store, url));

/** Several stores on one database, as of several processes. */
export const withPostgresStores = (
  count: number,
  use: (stores: readonly Store[], url: string) => Promise<void>,
  durableBounds = DURABLE_BOUNDS,
): Promise<void> =>
  withDatabase(async (url) => {
    const open = () => openPostgresStore({ url, durableBounds });
    const stores = await Promise.all(Array.from({ length: count }, open));
    try {
      await use(stores, url);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  });
