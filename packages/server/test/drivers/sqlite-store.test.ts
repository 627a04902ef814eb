import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { storeContract } from '../contract/store-contract.ts';

storeContract('SQLite', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'rollcall-store-'));
  return {
    open: () => openSqliteStore({ dataDir }),
    remove: () => rm(dataDir, { recursive: true }),
  };
});
