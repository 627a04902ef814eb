import { type Member, type RollcallClient, RollcallError } from '@rollcall/client';
import { useMemo } from 'react';
import { storeOf } from './client-stores.ts';
import type { LiveStore } from './live-store.ts';
import { type PagedState, pageLoader } from './page-loader.ts';
import { useProvided } from './rollcall-provider.ts';
import { all, useStore } from './use-store.ts';
import { useViewer } from './use-viewer.ts';

/** The members of a group. Methods reject with a RollcallError. */
export interface UseMembers {
  /** In order of ID, as far as they are loaded. */
  readonly members: readonly Member[];
  /** How many members the group has; null until it is known. */
  readonly total: number | null;
  readonly isLoading: boolean;
  readonly error: RollcallError | null;
  readonly hasMore: boolean;
  /** Loads 100 more members. */
  loadMore(): Promise<void>;
  /** Reads the list anew: the server does not report changes of members to pages. */
  refresh(): void;
}

interface MembersState extends PagedState {
  readonly members: readonly Member[];
  readonly total: number | null;
}

const UNREAD: MembersState = {
  members: [],
  total: null,
  isLoading: true,
  error: null,
  token: null,
  missed: null,
};
const LIMIT = 100;
const NO_GROUP = 'there is no groupID, and the viewer is not in exactly one group';

const withMore = (state: MembersState, items: readonly Member[], token: string | null): MembersState => ({
  ...state,
  members: [...state.members, ...items],
  token,
  missed: null,
});

/** @param groupID null until it is known */
const membersStore = (client: RollcallClient, groupID: string | null): LiveStore<MembersState> =>
  storeOf<MembersState>(client, ['members', groupID], UNREAD, async (set, signal) => {
    if (groupID === null) return;
    try {
      const { items, total, next } = await client.members(groupID, { signal }).page({ limit: LIMIT });
      set(() => ({ ...UNREAD, members: items, total, isLoading: false, token: next }));
      return true;
    } catch (error) {
      // After close() of the client nothing is shown.
      if ((error as RollcallError).code !== 'aborted')
        set((state) => ({ ...state, isLoading: false, error: error as RollcallError }));
      throw error;
    }
  });

/** The members of a group: the given one, the provider's, or the only one of the viewer. */
export function useMembers(options: { readonly groupID?: string | undefined } = {}): UseMembers {
  const provided = useProvided(options.groupID);
  const { client } = provided;
  const { viewer, error } = useViewer();
  const only = viewer?.groups.length === 1 ? viewer.groups[0]?.id : undefined;
  const groupID = provided.groupID ?? only ?? null;
  const store = membersStore(client, groupID);
  const state = useStore(store, all);
  const actions = store.actions(() => ({
    // Without a group no page follows.
    loadMore: pageLoader(store, client.members(groupID as string), LIMIT, withMore),
    refresh: () => store.restart(),
  }));
  return useMemo(() => {
    const { token, missed: _, ...shown } = state;
    const known = { ...shown, hasMore: token !== null, ...actions };
    if (groupID !== null) return known;
    const reason = error ?? (viewer && new RollcallError('missing_field', NO_GROUP));
    return { ...known, isLoading: reason === null, error: reason };
  }, [state, actions, groupID, viewer, error]);
}
