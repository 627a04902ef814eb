/** Users: who can belong to groups and be present. */

import { EMAIL_MAX_LENGTH, NAME_MAX_LENGTH, URL_MAX_LENGTH } from './limits.ts';
import { exactly, list, maybe, object, type Static, textOrNull } from './schema.ts';
import { clearableText, Id, Metadata, Name, Pagination, Status, Timestamp } from './values.ts';

/** One `@`, something before it, and dot-separated labels after it; internationalised addresses pass. */
const EMAIL = '^(?:[^\\s@\\p{C}]+@[^\\s@\\p{C}.]+(?:\\.[^\\s@\\p{C}.]+)*)?$';

const writable = {
  name: maybe(Name),
  short_name: maybe(
    clearableText(
      { minLength: 1, maxLength: NAME_MAX_LENGTH },
      `a string of 1 to ${NAME_MAX_LENGTH} characters, or null to clear it`,
    ),
  ),
  email: maybe(
    clearableText(
      { maxLength: EMAIL_MAX_LENGTH, pattern: EMAIL },
      `an e-mail address of at most ${EMAIL_MAX_LENGTH} characters, or "" or null to clear it`,
    ),
  ),
  profile_picture_url: maybe(
    clearableText(
      { maxLength: URL_MAX_LENGTH, format: 'http-url' },
      `an absolute http or https URL of at most ${URL_MAX_LENGTH} characters, or null to clear it`,
    ),
  ),
  status: maybe(Status),
  metadata: maybe(Metadata),
};

/** Body of `PUT /v1/users/<ID>`: only what is supplied changes. */
export const UserWrite = exactly(writable);
export type UserWrite = Static<typeof UserWrite>;

/** A user of a batch, and the body of `POST /v1/users`. */
export const UserItem = exactly(
  { id: Id, ...writable },
  { description: "an object with a user's id and fields" },
);
export type UserItem = Static<typeof UserItem>;

const nullableText = textOrNull();

export const User = object({
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

export const UserList = object({ users: list(User), pagination: Pagination });
