import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import {
  conversationContract,
  conversationFeedSuite,
  snapshotLimitSuite,
  storeContract,
  webhookSuite,
} from '../contract/store-contract.ts';

const makeSpace = async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'rollcall-store-'));
  return {
    open: () => openSqliteStore({ dataDir }),
    remove: () => rm(dataDir, { recursive: true }),
  };
};

storeContract('SQLite', makeSpace);
conversationContract('SQLite', makeSpace);
conversationFeedSuite('SQLite', makeSpace);
snapshotLimitSuite('SQLite', makeSpace);
webhookSuite('SQLite', makeSpace);
