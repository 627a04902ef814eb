/** Users, who are members of groups and can be present in them. */

import { EMAIL_MAX_LENGTH, NAME_MAX_LENGTH, URL_MAX_LENGTH } from './limits.ts';
import { exactly, list, maybe, meaning, object, type Static, textOrNull } from './schema.ts';
import { clearableText, Id, Metadata, Name, Pagination, Status, Timestamp } from './values.ts';

/** One `@`, something before it, and dot-separated labels after it; internationalised addresses pass. */
const EMAIL = {
  pattern: '^(?:[^\\s@\\p{C}]+@[^\\s@\\p{C}.]+(?:\\.[^\\s@\\p{C}.]+)*)?$',
  'x-portable-pattern': '^([^ @]+@[^ @.]+([.][^ @.]+)*)?$',
};

const meanings = {
  id: 'The ID that the host gave the user.',
  name: 'What people call the user.',
  short_name: 'A shorter name, for narrow displays.',
  email: 'Where e-mail reaches the user.',
  profile_picture_url: 'A picture of the user.',
  status: 'The data of a `deleted` user is retained, but the user cannot be present or log in.',
  metadata: 'Data of the host about the user. A write replaces the whole object; `{}` when never set.',
};

const id = meaning(Id, meanings.id);
const status = meaning(Status, meanings.status);
const metadata = meaning(Metadata, meanings.metadata);

const writable = {
  name: meaning(maybe(Name), meanings.name),
  short_name: meaning(
    maybe(
      clearableText(
        { minLength: 1, maxLength: NAME_MAX_LENGTH },
        `a string of 1 to ${NAME_MAX_LENGTH} characters, or null to clear it`,
      ),
    ),
    meanings.short_name,
  ),
  email: meaning(
    maybe(
      clearableText(
        { maxLength: EMAIL_MAX_LENGTH, ...EMAIL },
        `an e-mail address of at most ${EMAIL_MAX_LENGTH} characters, or "" or null to clear it`,
      ),
    ),
    meanings.email,
  ),
  profile_picture_url: meaning(
    maybe(
      clearableText(
        { maxLength: URL_MAX_LENGTH, format: 'http-url' },
        `an absolute http or https URL of at most ${URL_MAX_LENGTH} characters, or null to clear it`,
      ),
    ),
    meanings.profile_picture_url,
  ),
  status: maybe(status),
  metadata: maybe(metadata),
};

/** Body of `PUT /v1/users/<ID>`: only supplied fields change. */
export const UserWrite = exactly(writable, {
  'x-meaning': 'The fields of a user to change: a field that is not supplied does not change.',
});
export type UserWrite = Static<typeof UserWrite>;

/** A user of a batch, and the body of `POST /v1/users`. */
export const UserItem = exactly(
  { id, ...writable },
  {
    'x-meaning': 'A user of a batch, or one to create.',
    description: "an object with a user's id and fields",
  },
);
export type UserItem = Static<typeof UserItem>;

const nullableText = textOrNull();

export const User = object(
  {
    id,
    name: meaning(nullableText, meanings.name),
    short_name: meaning(nullableText, meanings.short_name),
    email: meaning(nullableText, meanings.email),
    profile_picture_url: meaning(nullableText, meanings.profile_picture_url),
    status,
    metadata,
    created_at: meaning(Timestamp, 'When the user was created.'),
    updated_at: meaning(Timestamp, 'When the user was last changed.'),
  },
  { 'x-meaning': 'A user.' },
);
export type User = Static<typeof User>;

export const UserList = object(
  { users: meaning(list(User), 'In order of ID.'), pagination: meaning(Pagination, 'The next page.') },
  { 'x-meaning': 'A page of users.' },
);
