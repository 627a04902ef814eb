import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';

presenceStoreContract('memory', async () => {
  const store = createMemoryPresence();
  return [store, store];
});
