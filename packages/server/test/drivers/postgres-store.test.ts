import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import {
  conversationContract,
  conversationFeedSuite,
  snapshotLimitSuite,
  storeContract,
  webhookSuite,
} from '../contract/store-contract.ts';
import { ownDatabase, skipsPostgres } from '../support/postgres.ts';

if (skipsPostgres === false) {
  const makeSpace = async () => {
    const { url, remove } = await ownDatabase();
    return { open: () => openPostgresStore({ url }), remove };
  };
  storeContract('PostgreSQL', makeSpace);
  conversationContract('PostgreSQL', makeSpace);
  conversationFeedSuite('PostgreSQL', makeSpace);
  snapshotLimitSuite('PostgreSQL', makeSpace);
  webhookSuite('PostgreSQL', makeSpace);
}
