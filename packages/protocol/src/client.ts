/** The answer to a client token about its user. */
import { list, meaning, object, type Static } from './schema.ts';
import { User } from './user.ts';
import { Id, Name } from './values.ts';

/** Response of `GET /v1/client/viewer`. */
export const Viewer = object(
  {
    user: meaning(User, "The token's user."),
    groups: meaning(
      list(
        object({
          id: meaning(Id, 'The ID that the host gave the group.'),
          name: meaning(Name, 'What people call the group.'),
        }),
      ),
      "The user's active groups, in order of ID; where the token names one, that one only.",
    ),
  },
  { 'x-meaning': 'The logged-in user and their groups.' },
);
export type Viewer = Static<typeof Viewer>;
