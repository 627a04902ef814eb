import { Expand, maybe, meaning } from '@rollcall/protocol';
import type { Expansion } from '../../core/presence/presence-reading.ts';

/** `data`, `user` or both, in any order. */
export const ExpandParameter = meaning(
  maybe(Expand),
  'What to show beside locations: `data` the data of each location, `user` the names and pictures of the users.',
  { 'x-example': 'data,user' },
);

/** What the parameter names, in alphabetical order. */
export const expansionsOf = (expand: string) => expand.split(',').sort() as Expansion[];
