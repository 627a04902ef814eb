/** Memberships: which users belong to a group. */
import Type, { type Static } from 'typebox';
import { MemberIds } from './group.ts';
import { Id, Pagination } from './values.ts';

/** Body of `POST /v1/groups/<ID>/members`. */
export const MembersChange = Type.Object(
  { add: Type.Optional(MemberIds), remove: Type.Optional(MemberIds) },
  { additionalProperties: false },
);
export type MembersChange = Static<typeof MembersChange>;

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const Member = Type.Object({ id: Id, name: nullableText, email: nullableText });
export type Member = Static<typeof Member>;

export const MemberList = Type.Object({ users: Type.Array(Member), pagination: Pagination });
