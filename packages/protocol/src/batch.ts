/** The atomic batch: create or update many users and groups, all or nothing. */

import { GroupItem } from './group.ts';
import { BATCH_MAX_GROUPS, BATCH_MAX_USERS } from './limits.ts';
import { exactly, integer, list, maybe, object, type Static } from './schema.ts';
import { UserItem } from './user.ts';
import { Done } from './values.ts';

/** Body of `POST /v1/batch`. Users are applied first; within a list, items apply in order. */
export const Batch = exactly({
  users: maybe(
    list(UserItem, {
      maxItems: BATCH_MAX_USERS,
      description: `an array of at most ${BATCH_MAX_USERS} users`,
    }),
  ),
  groups: maybe(
    list(GroupItem, {
      maxItems: BATCH_MAX_GROUPS,
      description: `an array of at most ${BATCH_MAX_GROUPS} groups`,
    }),
  ),
});
export type Batch = Static<typeof Batch>;

/** What a batch did to the items of one list; the three add up to the list's length. */
export const ChangeCounts = object({
  created: integer(),
  updated: integer(),
  unchanged: integer(),
});
export type ChangeCounts = Static<typeof ChangeCounts>;

export const BatchDone = object({ ...Done.properties, users: ChangeCounts, groups: ChangeCounts });
