/** Memberships: which users belong to a group. */

import { MemberIds } from './group.ts';
import { exactly, list, maybe, object, type Static, textOrNull } from './schema.ts';
import { Id, Pagination } from './values.ts';

/** Body of `POST /v1/groups/<ID>/members`. */
export const MembersChange = exactly({ add: maybe(MemberIds), remove: maybe(MemberIds) });
export type MembersChange = Static<typeof MembersChange>;

const nullableText = textOrNull();

export const Member = object({ id: Id, name: nullableText, email: nullableText });
export type Member = Static<typeof Member>;

export const MemberList = object({ users: list(Member), pagination: Pagination });
