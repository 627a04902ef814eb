/** Groups: named sets of users, in which presence applies. */
import { exactly, list, maybe, meaning, object, type Static } from './schema.ts';
import { Flag, Id, Metadata, Name, Pagination, Status } from './values.ts';

/** The whole list of a group's members; repeated IDs count once. */
export const MemberIds = list(Id, { description: 'an array of user IDs' });

const fields = {
  id: meaning(Id, 'The ID that the host gave the group.'),
  name: meaning(Name, 'What people call the group.'),
  status: meaning(Status, 'A `deleted` group retains its data, but no user can be present in it.'),
  members: meaning(MemberIds, 'IDs of the members.'),
  metadata: meaning(
    Metadata,
    'Data of the host about the group. A write replaces the whole object; `{}` when never set.',
  ),
  connectedToMessenger: meaning(
    Flag,
    'Whether the group is connected to a workspace of an external messaging product. Read-only.',
  ),
};

const writable = {
  name: meaning(maybe(Name), 'What people call the group. Required when the group does not exist yet.'),
  status: maybe(fields.status),
  metadata: maybe(fields.metadata),
  members: meaning(
    maybe(MemberIds),
    'IDs of all members: a user who is not in the list leaves the group. Repeated IDs count once.',
  ),
};

/** Body of `PUT /v1/groups/<ID>`: only supplied fields change; `name` is required to create. */
export const GroupWrite = exactly(writable, {
  'x-meaning': 'The fields of a group to change: a field that is not supplied does not change.',
});
export type GroupWrite = Static<typeof GroupWrite>;

/** A group of a batch: `name` is required when the group does not exist yet. */
export const GroupItem = exactly(
  { id: fields.id, ...writable },
  { 'x-meaning': 'A group of a batch.', description: "an object with a group's id and fields" },
);
export type GroupItem = Static<typeof GroupItem>;

/** Body of `POST /v1/groups`, which only creates. */
export const GroupCreation = exactly(
  { id: fields.id, ...writable, name: fields.name },
  { 'x-meaning': 'A group to create.' },
);
export type GroupCreation = Static<typeof GroupCreation>;

export const Group = object(fields, { 'x-meaning': 'A group with its members.' });
export type Group = Static<typeof Group>;

const { members: _members, ...entry } = fields;

/** An entry of `GET /v1/groups`. */
export const GroupEntry = object(entry, { 'x-meaning': 'A group in a list, without its members.' });

export const GroupList = list(GroupEntry);

/** Response of `GET /v1/users/<ID>/groups`. */
export const UserGroupList = object(
  {
    groups: meaning(
      list(
        object({
          id: fields.id,
          name: fields.name,
          status: meaning(Status, 'Deleted groups are listed too.'),
        }),
      ),
      'In order of ID.',
    ),
    pagination: meaning(Pagination, 'The next page.'),
  },
  { 'x-meaning': "A page of a user's groups." },
);
