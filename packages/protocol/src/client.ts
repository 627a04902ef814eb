/** What a browser reads as the user of a client token. */
import { list, object, type Static } from './schema.ts';
import { User } from './user.ts';
import { Id, Name } from './values.ts';

/** Answer of `GET /v1/client/viewer`. */
export const Viewer = object({
  user: User,
  groups: list(object({ id: Id, name: Name })),
});
export type Viewer = Static<typeof Viewer>;
