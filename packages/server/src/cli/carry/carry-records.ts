import type { CarriedRecord, CarryCounts, Store, WriteStamp } from '../../store/store.ts';

export type CarriedType = CarriedRecord['type'];

/** How many records of each type were written and left out; types of which there was none are absent. */
export type CarryTally = ReadonlyMap<CarriedType, CarryCounts>;

/** Who takes records: a store, or what only counts them. */
export type CarryTarget = Pick<Store, 'carryIn'>;

export interface Carrying {
  readonly from: Pick<Store, 'carryOut'>;
  readonly to: CarryTarget;
  /** The stamp of the next write. */
  stamp(): WriteStamp;
  onProgress(records: number): void;
}

/**
 * Carries all that the one store hands over into the other, piece by piece: what stops it leaves pieces that are whole,
 * and it can be run again.
 */
export async function carryRecords({ from, to, stamp, onProgress }: Carrying): Promise<CarryTally> {
  const tally = new Map<CarriedType, CarryCounts>();
  let records = 0;
  for await (const piece of from.carryOut()) {
    for (const [type, some] of Map.groupBy(piece, (record) => record.type)) {
      const before = tally.get(type) ?? { written: 0, skipped: 0 };
      const { written, skipped } = await to.carryIn(some, stamp());
      tally.set(type, { written: before.written + written, skipped: before.skipped + skipped });
    }
    records += piece.length;
    onProgress(records);
  }
  return tally;
}
