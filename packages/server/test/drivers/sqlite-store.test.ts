import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import {
  conversationContract,
  conversationFeedSuite,
  snapshotLimitSuite,
  storeContract,
  webhookSuite,
} from '../contract/store-contract.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const makeSpace = async () => {
  const { path: dataDir, remove } = await temporaryDirectory('store');
  return { open: () => openSqliteStore({ dataDir }), remove };
};

storeContract('SQLite', makeSpace);
conversationContract('SQLite', makeSpace);
conversationFeedSuite('SQLite', makeSpace);
snapshotLimitSuite('SQLite', makeSpace);
webhookSuite('SQLite', makeSpace);
