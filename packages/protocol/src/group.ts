/** Groups: named sets of users, in which presence applies. */
import { exactly, list, maybe, object, type Static } from './schema.ts';
import { Flag, Id, Metadata, Name, Pagination, Status } from './values.ts';

/** The exhaustive list of a group's members; repeated IDs count once. */
export const MemberIds = list(Id, { description: 'an array of user IDs' });

const writable = {
  name: maybe(Name),
  status: maybe(Status),
  metadata: maybe(Metadata),
  members: maybe(MemberIds),
};

/** Body of `PUT /v1/groups/<ID>`: only what is supplied changes; `name` is required to create. */
export const GroupWrite = exactly(writable);
export type GroupWrite = Static<typeof GroupWrite>;

/** A group of a batch: `name` is required where the group does not exist yet. */
export const GroupItem = exactly(
  { id: Id, ...writable },
  { description: "an object with a group's id and fields" },
);
export type GroupItem = Static<typeof GroupItem>;

/** Body of `POST /v1/groups`, which only creates. */
export const GroupCreation = exactly({ id: Id, ...writable, name: Name });
export type GroupCreation = Static<typeof GroupCreation>;

/** An entry of `GET /v1/groups`. */
export const GroupEntry = object({
  id: Id,
  name: Name,
  status: Status,
  metadata: Metadata,
  connectedToMessenger: Flag,
});

export const Group = object({
  id: Id,
  name: Name,
  status: Status,
  members: MemberIds,
  metadata: Metadata,
  connectedToMessenger: Flag,
});
export type Group = Static<typeof Group>;

export const GroupList = list(GroupEntry);

/** Answer of `GET /v1/users/<ID>/groups`. */
export const UserGroupList = object({
  groups: list(object({ id: Id, name: Name, status: Status })),
  pagination: Pagination,
});
