/** The atomic batch: create or update many users and groups, all or nothing. */
import Type, { type Static } from 'typebox';
import { GroupItem } from './group.ts';
import { BATCH_MAX_GROUPS, BATCH_MAX_USERS } from './limits.ts';
import { UserItem } from './user.ts';
import { Done } from './values.ts';

/** Body of `POST /v1/batch`. Users are applied first; within a list, items apply in order. */
export const Batch = Type.Object(
  {
    users: Type.Optional(
      Type.Array(UserItem, {
        maxItems: BATCH_MAX_USERS,
        description: `an array of at most ${BATCH_MAX_USERS} users`,
      }),
    ),
    groups: Type.Optional(
      Type.Array(GroupItem, {
        maxItems: BATCH_MAX_GROUPS,
        description: `an array of at most ${BATCH_MAX_GROUPS} groups`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type Batch = Static<typeof Batch>;

/** What a batch did to the items of one list; the three add up to the list's length. */
export const ChangeCounts = Type.Object({
  created: Type.Integer(),
  updated: Type.Integer(),
  unchanged: Type.Integer(),
});
export type ChangeCounts = Static<typeof ChangeCounts>;

export const BatchDone = Type.Object({ ...Done.properties, users: ChangeCounts, groups: ChangeCounts });
