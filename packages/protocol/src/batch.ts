/** The atomic batch: creates or updates many users and groups, all or nothing. */

import { GroupItem } from './group.ts';
import { BATCH_MAX_GROUPS, BATCH_MAX_USERS } from './limits.ts';
import { exactly, integer, list, maybe, meaning, object, type Static } from './schema.ts';
import { UserItem } from './user.ts';
import { Done } from './values.ts';

/** Body of `POST /v1/batch`. Users are applied first; within a list, items apply in order. */
export const Batch = exactly(
  {
    users: meaning(
      maybe(
        list(UserItem, {
          maxItems: BATCH_MAX_USERS,
          description: `an array of at most ${BATCH_MAX_USERS} users`,
        }),
      ),
      'Applied first, in order.',
    ),
    groups: meaning(
      maybe(
        list(GroupItem, {
          maxItems: BATCH_MAX_GROUPS,
          description: `an array of at most ${BATCH_MAX_GROUPS} groups`,
        }),
      ),
      'Applied after the users, in order.',
    ),
  },
  { 'x-meaning': 'Users and groups to create or update, all or nothing.' },
);
export type Batch = Static<typeof Batch>;

/** The outcome of a batch for the items of one list; the three counts add up to its length. */
export const ChangeCounts = object(
  {
    created: meaning(integer(), 'How many did not exist.'),
    updated: meaning(integer(), 'How many existed and changed.'),
    unchanged: meaning(integer(), 'How many existed and were already as supplied.'),
  },
  { 'x-meaning': "How many of a list's items were created, updated or unchanged." },
);
export type ChangeCounts = Static<typeof ChangeCounts>;

export const BatchDone = object(
  {
    ...Done.properties,
    users: meaning(ChangeCounts, 'The results for the users.'),
    groups: meaning(ChangeCounts, 'The results for the groups.'),
  },
  { 'x-meaning': 'The results of a batch.' },
);
