/** What the writes of carried records share. */
import type { CarriedRecord, WriteStamp } from '../../store.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { plainArray, textArray } from '../postgres-text.ts';

export type CarriedType = CarriedRecord['type'];
export type Carried<Type extends CarriedType> = Extract<CarriedRecord, { type: Type }>;

/** Writes records of one type of which no two are about the same; the places, from 0 on, of those that had what they are about. */
export type CarriedWrite<Type extends CarriedType> = (
  transaction: Transaction,
  records: readonly Carried<Type>[],
  stamp: WriteStamp,
) => Promise<Iterable<number>>;

/** A record whose project is there, and where it stands among those that it came with. */
export interface Placed<Type extends CarriedType> {
  readonly place: number;
  readonly project: string;
  readonly record: Carried<Type>;
}

/** Holds the projects $1, so that none is deleted meanwhile: (place from 1 on, key) of those that are there. */
const HOLD_PROJECTS = `
  SELECT w.place, p.project_id FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place) JOIN projects p ON p.id = w.id
  ORDER BY p.project_id FOR KEY SHARE OF p`;

/** Those whose projects are there, in the order of the projects' keys. */
export async function placed<Type extends Extract<CarriedRecord, { projectId: string }>['type']>(
  transaction: Transaction,
  records: readonly Carried<Type>[],
): Promise<Placed<Type>[]> {
  const ids = textArray(records.map((record) => (record as { projectId: string }).projectId));
  const [rows] = await transaction.run([HOLD_PROJECTS, ids]);
  return rows.map(([place, project]) => ({
    place: (place as number) - 1,
    project: project as string,
    record: records[(place as number) - 1] as Carried<Type>,
  }));
}

/** The values of a column. */
export const texts = <Item>(items: readonly Item[], value: (item: Item) => string | null) =>
  textArray(items.map(value));
export const plain = <Item>(items: readonly Item[], value: (item: Item) => number | boolean | null) =>
  plainArray(items.map(value));

export const numbersOf = (rows: readonly Row[]): number[] => rows.map(([number]) => number as number);
