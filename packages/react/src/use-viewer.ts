import type { RollcallClient, RollcallError, Viewer } from '@rollcall/client';
import { storeOf } from './client-stores.ts';
import type { LiveStore } from './live-store.ts';
import { retried } from './retried.ts';
import { useRollcall } from './rollcall-provider.ts';
import { all, useStore } from './use-store.ts';

/** The user of the token. */
export interface ViewerState {
  /** The user and their active groups; null until they are read. */
  readonly viewer: Viewer | null;
  /** Why they cannot be read. */
  readonly error: RollcallError | null;
}

const UNREAD: ViewerState = { viewer: null, error: null };

/** The store of a client's viewer. It is read until it is there, and again when it is used after it was not. */
const viewerStore = (client: RollcallClient): LiveStore<ViewerState> =>
  storeOf<ViewerState>(client, ['viewer'], UNREAD, async (set, signal) => {
    const onError = (error: RollcallError) => set((state) => ({ ...state, error }));
    const viewer = await retried(() => client.viewer({ signal }), onError, signal);
    if (viewer === null) return;
    set(() => ({ viewer, error: null }));
    return true;
  });

/** The user who is logged in, and their groups: `{ viewer, error }`. */
export const useViewer = (): ViewerState => useStore(viewerStore(useRollcall()), all);

const idOf = ({ viewer }: ViewerState) => viewer?.user.id ?? null;

/** The ID of the user who is logged in; null until it is known. */
export const useViewerID = (): string | null => useStore(viewerStore(useRollcall()), idOf);

/** The same, outside of components. */
export const viewerIDOf = (client: RollcallClient): string | null => idOf(viewerStore(client).get());
