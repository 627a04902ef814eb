import { limits } from '@rollcall/protocol';
import type { Store } from '../store/store.ts';
import type { Json } from '../values/json.ts';
import type { ProjectKey } from '../values/project-key.ts';
import { slices } from './slices.ts';

/** How users are shown, as JSON text, by user ID. */
export type Profiles = Map<string, Json>;

interface ListedUser {
  readonly id: string;
  readonly name: string | null;
  readonly profile_picture_url: string | null;
}

/** The profile of a user who does not exist any more. */
export const NO_PROFILE: Json = profileText({ name: null, profile_picture_url: null });

/** The names and pictures of these users; those who do not exist are left out. Reads {@link limits.LISTED_IDS_MAX} at once. */
export async function readProfiles(
  store: Pick<Store, 'users'>,
  project: ProjectKey,
  userIds: readonly string[],
): Promise<Profiles> {
  const profiles: Profiles = new Map();
  for (const ids of slices(userIds, limits.LISTED_IDS_MAX)) {
    const { items } = await store.users.listByIds(project, ids);
    for (const user of JSON.parse(`[${items}]`) as ListedUser[]) profiles.set(user.id, profileText(user));
  }
  return profiles;
}

function profileText({ name, profile_picture_url }: Omit<ListedUser, 'id'>): Json {
  return JSON.stringify({ name, profile_picture_url });
}
