import type { RollcallClient, RollcallError, Viewer } from '@rollcall/client';
import { storeOf } from './client-stores.ts';
import { type LiveStore, untilStopped } from './live-store.ts';
import { useRollcall } from './rollcall-provider.ts';
import { useStore } from './use-store.ts';

/** The user of the token. */
export interface ViewerState {
  /** The user and their active groups; null until they are read. */
  readonly viewer: Viewer | null;
  /** Why they cannot be read. */
  readonly error: RollcallError | null;
}

const UNREAD: ViewerState = { viewer: null, error: null };

/** The store of a client's viewer. It is read once, and again when it is used after it was not. */
const viewerStore = (client: RollcallClient): LiveStore<ViewerState> =>
  storeOf<ViewerState>(client, ['viewer'], UNREAD, (set, signal) =>
    client.viewer({ signal }).then(
      (viewer) => {
        set(() => ({ viewer, error: null }));
        return untilStopped(signal);
      },
      (error: RollcallError) => set(({ viewer }) => ({ viewer, error })),
    ),
  );

const all = (state: ViewerState) => state;

/** The user who is logged in, and their groups: `{ viewer, error }`. */
export const useViewer = (): ViewerState => useStore(viewerStore(useRollcall()), all);

const idOf = ({ viewer }: ViewerState) => viewer?.user.id ?? null;

/** The ID of the user who is logged in; null until it is known. */
export const useViewerID = (): string | null => useStore(viewerStore(useRollcall()), idOf);
