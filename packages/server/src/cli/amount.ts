import { withCommas } from '../values/with-commas.ts';

/** So many things in words, by their plural: `1 user`, `2,000 users`. */
export const amount = (count: number, plural: string): string =>
  `${withCommas(count)} ${count === 1 ? plural.slice(0, -1) : plural}`;
