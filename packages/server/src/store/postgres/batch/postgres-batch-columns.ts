/** What the statements of a batch are given: arrays, a column each. */

import { plainArray, textArray } from '../postgres-text.ts';
import type { ComparedList } from './postgres-batch-contents.ts';
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

/** Lists of members: (the list's number, its group, the user) for each who is on one. */
export function listedColumns(lists: readonly ComparedList[]): [string, string, string] {
  const numbers: number[] = [];
  const [groups, users]: [string[], string[]] = [[], []];
  for (const [number, { group, users: listed }] of lists.entries()) {
    for (const id of listed) {
      numbers.push(number);
      groups.push(group.id);
      users.push(id);
    }
  }
  return [plainArray(numbers), textArray(groups), textArray(users)];
}
