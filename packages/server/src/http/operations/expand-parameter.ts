import { maybe, meaning, text } from '@rollcall/protocol';
import type { Expansion } from '../../core/presence-reading.ts';

/** `data`, `user` or both, in any order. */
export const ExpandParameter = meaning(
  maybe(
    text({
      pattern: '^(?:data|user|data,user|user,data)$',
      description: 'data, user, or both separated by a comma',
    }),
  ),
  'What to show beside locations: `data` the data of each location, `user` the names and pictures of the users.',
  { 'x-example': 'data,user' },
);

/** What the parameter names, in alphabetical order. */
export const expansionsOf = (expand: string) => expand.split(',').sort() as Expansion[];
