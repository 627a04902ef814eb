import {
  type Location,
  NOBODY,
  type PresenceEntry,
  type PresenceFilter,
  type PresenceState,
  presenceAfter,
  type RollcallClient,
  type RollcallError,
} from '@rollcall/client';
import { storeOf } from './client-stores.ts';
import type { LiveStore } from './live-store.ts';

/** What a page publishes with a presence: at most 1 KiB of JSON. */
export type PresenceData = Readonly<Record<string, unknown>>;

/** A user who is present, with everything that a page shows of them. */
export interface PresentUser {
  readonly id: string;
  /** Null where the user has none. */
  readonly name: string | null;
  readonly pictureURL: string | null;
  /** Where the user is now, with the data that their page published there. */
  readonly presences: readonly { readonly location: Location; readonly data: PresenceData | null }[];
  /** Where they were last, as a durable update stored it. */
  readonly durable: { readonly location: Location; readonly timestamp: string } | null;
}

/** Who is present in a group. */
export interface GroupPresence {
  /** In order of ID. A user who did not change is the same object as before. */
  readonly users: readonly PresentUser[];
  /** Why the group cannot be watched: for example, the user is no longer a member. */
  readonly error: RollcallError | null;
}

/** Which presence, in which group. Without `groupID`, the group is the provider's or the token's. */
export interface PresenceOptions extends PresenceFilter {
  readonly groupID?: string | undefined;
}

const NOTHING_READ: GroupPresence = { users: [], error: null };

/** The presence of a group, from one stream for all components that show it. */
export function presenceStore(
  client: RollcallClient,
  { groupID, location, partialMatch, excludeDurable }: PresenceOptions,
): LiveStore<GroupPresence> {
  const options = { groupID, location, partialMatch, excludeDurable };
  return storeOf<GroupPresence>(client, ['presence', options], NOTHING_READ, async (set, signal) => {
    const shown = new WeakMap<PresenceEntry, PresentUser>();
    let state: PresenceState = NOBODY;
    try {
      for await (const event of client.presence.watch({ ...options, expand: 'data,user', signal })) {
        state = presenceAfter(state, event);
        const users = usersOf(state, shown);
        set(() => ({ users, error: null }));
      }
    } catch (error) {
      set(() => ({ users: [], error: error as RollcallError }));
    }
  });
}

function usersOf(state: PresenceState, shown: WeakMap<PresenceEntry, PresentUser>): PresentUser[] {
  const entries = [...state.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return entries.map((entry) => {
    const user = shown.get(entry) ?? presentUser(entry);
    shown.set(entry, user);
    return user;
  });
}

function presentUser({ id, ephemeral, durable, user }: PresenceEntry): PresentUser {
  const { locations, data = [] } = ephemeral;
  return {
    id,
    name: user?.name ?? null,
    pictureURL: user?.profile_picture_url ?? null,
    presences: locations.map((location, index) => ({ location, data: data[index] ?? null })),
    durable: durable ?? null,
  };
}
