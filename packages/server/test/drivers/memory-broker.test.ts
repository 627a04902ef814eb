import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { brokerContract } from '../contract/broker-contract.ts';

brokerContract('memory', async () => {
  const broker = createMemoryBroker();
  return [broker, broker];
});
