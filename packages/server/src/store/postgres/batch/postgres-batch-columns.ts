/** What the statements of a batch are given: arrays, a column each. */

import { textArray } from '../postgres-text.ts';
import type { Items } from './postgres-batch-items.ts';

/** IDs, and each field as it is first compared. */
export function firstColumns<Field extends string>(
  all: readonly Items<Field>[],
  fields: readonly Field[],
): string[] {
  return [idColumn(all), ...fields.map((field) => textArray(all.map((items) => items.firstOf(field))))];
}

/** IDs, and each field as it will be. */
export function lastColumns<Field extends string>(
  all: readonly Items<Field>[],
  fields: readonly Field[],
): string[] {
  return [idColumn(all), ...fields.map((field) => textArray(all.map((items) => items.lastOf(field))))];
}

const idColumn = (all: readonly { readonly id: string }[]): string => textArray(all.map(({ id }) => id));
