/**
 * The PresenceStore's contract as a library: an engine's test file calls {@link presenceStoreContract} with a way to make
 * stores, and every rule of presence/presence-store.ts becomes a test of that engine. No test depends on an engine.
 */
import { describe, test } from 'node:test';
import { boundsContract } from './presence/bounds-contract.ts';
import { connectionContract } from './presence/connection-contract.ts';
import { countContract } from './presence/count-contract.ts';
import { dataContract } from './presence/data-contract.ts';
import { deadlineContract } from './presence/deadline-contract.ts';
import { endingContract } from './presence/ending-contract.ts';
import { filterContract } from './presence/filter-contract.ts';
import { leaseContract } from './presence/lease-contract.ts';
import { membershipContract } from './presence/membership-contract.ts';
import { inScene, type MakePresenceStores, type Rule } from './presence/presence-scene.ts';
import { raceContract } from './presence/race-contract.ts';
import { readingContract } from './presence/reading-contract.ts';
import { scopeContract } from './presence/scope-contract.ts';
import { snapshotContract } from './presence/snapshot-contract.ts';
import { sweepContract } from './presence/sweep-contract.ts';
import { updateContract } from './presence/update-contract.ts';
import { watchContract } from './presence/watch-contract.ts';
import { watchEventContract } from './presence/watch-event-contract.ts';
import { watchHistoryContract } from './presence/watch-history-contract.ts';

/** Rules of crowds are of one group with very many users or locations. */
const SUBJECTS: Readonly<Record<string, (rule: Rule, crowdRule: Rule) => void>> = {
  updates: updateContract,
  deadlines: deadlineContract,
  readings: readingContract,
  filters: filterContract,
  endings: endingContract,
  scopes: scopeContract,
  sweeps: sweepContract,
  races: raceContract,
  watching: watchContract,
  bounds: boundsContract,
  memberships: membershipContract,
  connections: connectionContract,
  leases: leaseContract,
  data: dataContract,
  counts: countContract,
  'published events': watchEventContract,
  history: watchHistoryContract,
  snapshots: snapshotContract,
};

/**
 * Registers the whole contract as a suite called `name`; every test has an engine of its own, with nothing in it. Without
 * crowds, where the same engine is tested with them elsewhere and only the connection differs.
 */
export function presenceStoreContract(name: string, makeStores: MakePresenceStores, hasCrowds = true): void {
  const rule: Rule = (sentence, body) => void test(sentence, inScene(makeStores, body));
  const crowdRule: Rule = hasCrowds ? rule : () => {};
  describe(`the PresenceStore contract: ${name}`, () => {
    for (const [subject, contract] of Object.entries(SUBJECTS))
      describe(subject, () => contract(rule, crowdRule));
  });
}
