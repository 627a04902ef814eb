import type { RollcallClient, RollcallError, Viewer } from '@rollcall/client';
import { storeOf } from './client-stores.ts';
import type { LiveStore } from './live-store.ts';
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

/** The store of a client's viewer. It is read until it is there. */
const viewerStore = (client: RollcallClient): LiveStore<ViewerState> =>
  storeOf<ViewerState>(client, ['viewer'], UNREAD, async (set, signal) => {
    try {
      const viewer = await client.viewer({ signal });
      set(() => ({ viewer, error: null }));
      return true;
    } catch (error) {
      // After close() of the client nothing is shown.
      if ((error as RollcallError).code !== 'aborted')
        set((state) => ({ ...state, error: error as RollcallError }));
      throw error;
    }
  });

/** The user who is logged in, and their groups: `{ viewer, error }`. */
export const useViewer = (): ViewerState => useStore(viewerStore(useRollcall()), all);

const idOf = ({ viewer }: ViewerState) => viewer?.user.id ?? null;

/** The ID of the user who is logged in; null until it is known. */
export const useViewerID = (): string | null => useStore(viewerStore(useRollcall()), idOf);

/** The same, outside of components. */
export const viewerIDOf = (client: RollcallClient): string | null => idOf(viewerStore(client).get());
