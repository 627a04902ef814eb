/** Groups: named sets of users, in which presence applies. */
import Type, { type Static } from 'typebox';
import { Flag, Id, Metadata, Name, Pagination, Status } from './values.ts';

/** The exhaustive list of a group's members; repeated IDs count once. */
export const MemberIds = Type.Array(Id, { description: 'an array of user IDs' });

const writable = {
  name: Type.Optional(Name),
  status: Type.Optional(Status),
  metadata: Type.Optional(Metadata),
  members: Type.Optional(MemberIds),
};

/** Body of `PUT /v1/groups/<ID>`: only what is supplied changes; `name` is required to create. */
export const GroupWrite = Type.Object(writable, { additionalProperties: false });
export type GroupWrite = Static<typeof GroupWrite>;

/** A group of a batch: `name` is required where the group does not exist yet. */
export const GroupItem = Type.Object({ id: Id, ...writable }, { additionalProperties: false });
export type GroupItem = Static<typeof GroupItem>;

/** Body of `POST /v1/groups`, which only creates. */
export const GroupCreation = Type.Object(
  { id: Id, ...writable, name: Name },
  { additionalProperties: false },
);
export type GroupCreation = Static<typeof GroupCreation>;

/** An entry of `GET /v1/groups`. */
export const GroupEntry = Type.Object({
  id: Id,
  name: Name,
  status: Status,
  metadata: Metadata,
  connectedToMessenger: Flag,
});

export const Group = Type.Object({
  id: Id,
  name: Name,
  status: Status,
  members: MemberIds,
  metadata: Metadata,
  connectedToMessenger: Flag,
});
export type Group = Static<typeof Group>;

export const GroupList = Type.Array(GroupEntry);

/** Answer of `GET /v1/users/<ID>/groups`. */
export const UserGroupList = Type.Object({
  groups: Type.Array(Type.Object({ id: Id, name: Name, status: Status })),
  pagination: Pagination,
});
