/** What the Store recorded of a roster's writes. */
import { orderAll, recordsAfter } from '../../support/recorded.ts';
import { changeTexts } from './entries.ts';
import type { Roster } from './roster.ts';

/** The position of the newest record. */
export async function newest({ store, key }: Roster): Promise<number> {
  await orderAll(store);
  return (await store.changes.read(key, 0, 0)).newest;
}

/** The changes recorded after a position, as texts. */
export async function recordedAfter({ store, key }: Roster, position: number): Promise<string[]> {
  const records = await recordsAfter(store, key, position);
  return records.flatMap(({ changes }) => changeTexts(changes));
}
