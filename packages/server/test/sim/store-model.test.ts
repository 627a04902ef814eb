/** The judge is judged: the naive model obeys the contract that the engines obey. */
import { storeContract } from '../contract/store-contract.ts';
import { ModelState } from './model-state.ts';
import { StoreModel } from './store-model.ts';

storeContract('the naive model', async () => {
  const state = new ModelState();
  return { open: async () => new StoreModel(state), remove: async () => {} };
});
