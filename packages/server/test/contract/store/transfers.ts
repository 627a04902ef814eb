/** What the suites of transfers share: empty stores, and the records of a store. */
import assert from 'node:assert/strict';
import { TransferError } from '../../../src/store/ports/transfer.ts';
import type { Store } from '../../../src/store/store.ts';
import type { TransferRecord } from '../../../src/store/transfer-records.ts';
import type { StoreLab } from './store-lab.ts';

/** Runs tests on stores of their own, which are empty. */
export function spacesOf(lab: StoreLab) {
  const withStore = (use: (store: Store) => Promise<void>) => lab.withStore(use);
  const withTwo = (use: (from: Store, to: Store) => Promise<void>) =>
    withStore((from) => withStore((to) => use(from, to)));
  return { withStore, withTwo };
}

export async function projectOf(store: Store, id: string) {
  const project = await store.projects.find(id);
  assert.ok(project);
  return project;
}

/** All records; those of one type in the order of their texts, since a driver has an order of its own within a type. */
export async function exported(store: Store): Promise<TransferRecord[]> {
  const records = (await Array.fromAsync(store.transfer.export())).flat();
  return [...Map.groupBy(records, ({ type }) => type).values()].flatMap(inOrderOfText);
}

const besideKey = async (store: Store): Promise<TransferRecord[]> =>
  (await exported(store)).filter(({ type }) => type !== 'service_key');

export const inOrderOfText = <Item extends object>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, text: JSON.stringify(Object.entries(item).sort()) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ item }) => item);

/** Expects that the record at the position, by default the last, is rejected, also in a batch with the others. */
async function expectRejected(
  to: Store,
  records: readonly TransferRecord[],
  at = records.length - 1,
): Promise<void> {
  for (const batches of [oneByOne(records), atOnce(records)])
    await assert.rejects(
      to.transfer.import(batches),
      (error) => error instanceof TransferError && error.record === records[at],
    );
}

/** Expects the same of the store that stays empty. */
export async function expectRejectedByEmpty(
  lab: StoreLab,
  records: readonly TransferRecord[],
  at?: number,
): Promise<void> {
  await expectRejected(await lab.emptyStore, records, at);
  assert.deepEqual(await besideKey(await lab.emptyStore), []);
}

/** Expects that a store takes `whole` after it has rejected the others. */
export const expectTakenAfter = (
  lab: StoreLab,
  rejected: readonly (readonly TransferRecord[])[],
  whole: readonly TransferRecord[],
): Promise<void> =>
  lab.withStore(async (to) => {
    for (const records of rejected) await expectRejected(to, records);
    await to.transfer.import(oneByOne(whole));
    assert.deepEqual(await besideKey(to), whole);
  });

export async function* atOnce(records: readonly TransferRecord[]) {
  yield records;
}

export async function* oneByOne(records: readonly TransferRecord[]) {
  for (const record of records) yield [record];
}
