import { setImmediate as nextIteration } from 'node:timers/promises';
import { limits } from '@rollcall/protocol';
import type { Profile } from '../../store/ports/users.ts';
import type { Store } from '../../store/store.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';

/** By user ID. */
export type Profiles = Map<string, Profile>;

interface ListedUser {
  readonly id: string;
  readonly name: string | null;
  readonly profile_picture_url: string | null;
}

/** The profile of a user who does not exist any more. */
export const NO_PROFILE: Profile = { name: null, profilePictureUrl: null };

/** The names and pictures of these users; those who do not exist are left out. Reads {@link limits.LISTED_IDS_MAX} at once. */
export async function readProfiles(
  store: Pick<Store, 'users'>,
  project: ProjectKey,
  userIds: readonly string[],
): Promise<Profiles> {
  const profiles: Profiles = new Map();
  for (const [index, ids] of [...slices(userIds, limits.LISTED_IDS_MAX)].entries()) {
    // The embedded store answers within the tick.
    if (index > 0) await nextIteration();
    const { items } = await store.users.listByIds(project, ids);
    for (const { id, name, profile_picture_url } of JSON.parse(`[${items}]`) as ListedUser[])
      profiles.set(id, { name, profilePictureUrl: profile_picture_url });
  }
  return profiles;
}

export const isSameProfile = (a: Profile | undefined, b: Profile | undefined) =>
  a?.name === b?.name && a?.profilePictureUrl === b?.profilePictureUrl;
