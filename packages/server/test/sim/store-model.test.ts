/** The naive model passes the contract of the engines. */
import { conversationContract, storeContract } from '../contract/store-contract.ts';
import { ModelState } from './model-state.ts';
import { StoreModel } from './store-model.ts';

const makeSpace = async () => {
  const state = new ModelState();
  return { open: async () => new StoreModel(state), remove: async () => {} };
};

storeContract('the naive model', makeSpace);
conversationContract('the naive model', makeSpace);
