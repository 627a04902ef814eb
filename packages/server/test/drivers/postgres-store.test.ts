import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { storeContract } from '../contract/store-contract.ts';
import { ownDatabase, skipsPostgres } from '../support/postgres.ts';

if (skipsPostgres === false) {
  storeContract('PostgreSQL', async () => {
    const { url, remove } = await ownDatabase();
    return { open: () => openPostgresStore({ url }), remove };
  });
}
