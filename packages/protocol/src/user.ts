/** Users: who can belong to groups and be present. */
import Type, { type Static } from 'typebox';
import { EMAIL_MAX_LENGTH, NAME_MAX_LENGTH, URL_MAX_LENGTH } from './limits.ts';
import { clearableText, Id, Metadata, Name, Pagination, Status, Timestamp } from './values.ts';

/** One `@`, something before it, and dot-separated labels after it; internationalised addresses pass. */
const EMAIL = '^(?:[^\\s@\\p{C}]+@[^\\s@\\p{C}.]+(?:\\.[^\\s@\\p{C}.]+)*)?$';

const writable = {
  name: Type.Optional(Name),
  short_name: Type.Optional(
    clearableText(
      { minLength: 1, maxLength: NAME_MAX_LENGTH },
      `a string of 1 to ${NAME_MAX_LENGTH} characters, or null to clear it`,
    ),
  ),
  email: Type.Optional(
    clearableText(
      { maxLength: EMAIL_MAX_LENGTH, pattern: EMAIL },
      `an e-mail address of at most ${EMAIL_MAX_LENGTH} characters, or "" or null to clear it`,
    ),
  ),
  profile_picture_url: Type.Optional(
    clearableText(
      { maxLength: URL_MAX_LENGTH, format: 'http-url' },
      `an absolute http or https URL of at most ${URL_MAX_LENGTH} characters, or null to clear it`,
    ),
  ),
  status: Type.Optional(Status),
  metadata: Type.Optional(Metadata),
};

/** Body of `PUT /v1/users/<ID>`: only what is supplied changes. */
export const UserWrite = Type.Object(writable, { additionalProperties: false });
export type UserWrite = Static<typeof UserWrite>;

/** A user of a batch, and the body of `POST /v1/users`. */
export const UserItem = Type.Object({ id: Id, ...writable }, { additionalProperties: false });
export type UserItem = Static<typeof UserItem>;

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const User = Type.Object({
  id: Id,
  name: nullableText,
  short_name: nullableText,
  email: nullableText,
  profile_picture_url: nullableText,
  status: Status,
  metadata: Metadata,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type User = Static<typeof User>;

export const UserList = Type.Object({ users: Type.Array(User), pagination: Pagination });
