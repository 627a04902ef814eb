/** Memberships of users in groups. */

import { MemberIds } from './group.ts';
import { exactly, list, maybe, meaning, object, type Static, textOrNull } from './schema.ts';
import { Id, Pagination } from './values.ts';

/** Body of `POST /v1/groups/<ID>/members`. */
export const MembersChange = exactly(
  {
    add: meaning(maybe(MemberIds), 'Users to add; existing members stay members.'),
    remove: meaning(maybe(MemberIds), 'Users to remove; users who are not members are ignored.'),
  },
  { 'x-meaning': 'Users to add and users to remove. No user can be in both lists.' },
);
export type MembersChange = Static<typeof MembersChange>;

const nullableText = textOrNull();

export const Member = object(
  {
    id: meaning(Id, 'The ID that the host gave the user.'),
    name: meaning(nullableText, 'What people call the user. Null when never set.'),
    email: meaning(nullableText, 'The e-mail address of the user. Null when not set.'),
  },
  { 'x-meaning': 'A user as a member of a group.' },
);
export type Member = Static<typeof Member>;

export const MemberList = object(
  { users: meaning(list(Member), 'In order of ID.'), pagination: meaning(Pagination, 'The next page.') },
  { 'x-meaning': "A page of a group's members." },
);
