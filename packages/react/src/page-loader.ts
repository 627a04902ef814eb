import type { PagedList, RollcallError } from '@rollcall/client';
import type { LiveStore } from './live-store.ts';

/** A list that is loaded page by page. */
export interface PagedState<Event = never> {
  /** Whether nothing has been received yet. */
  readonly isLoading: boolean;
  /** Why the list cannot be read: for example, its thread does not exist. */
  readonly error: RollcallError | null;
  /** Where the list goes on; null when all of it is loaded. */
  readonly token: string | null;
  /** The events since the page that is being loaded was requested; null while none is. */
  readonly missed: readonly Event[] | null;
}

/** The state with the event among those that a page which is being loaded misses. */
export const recorded = <Event, State extends PagedState<Event>>(state: State, event: Event): State =>
  state.missed === null ? state : { ...state, missed: [...state.missed, event] };

/**
 * Returns the function that loads the next page; calls while a page is being loaded share it. `withPage` adds the page to the
 * state, and what was missed. The function rejects with a RollcallError.
 */
export function pageLoader<Item, State extends PagedState<unknown>>(
  store: LiveStore<State>,
  list: PagedList<Item>,
  limit: number,
  withPage: (state: State, items: readonly Item[], token: string | null) => State,
): () => Promise<void> {
  let loading: Promise<void> | null = null;
  const load = async () => {
    // Published first, so that the page follows everything that has come.
    store.set((state) => ({ ...state, missed: state.token === null ? null : [] }));
    const { token } = store.get();
    if (token === null) return;
    const page = await list.page({ limit, token }).catch((error) => {
      store.set((state) => ({ ...state, missed: null }));
      throw error;
    });
    // Otherwise the list was read anew meanwhile, from its first page.
    store.set((state) => (state.missed ? withPage(state, page.items, page.next) : state));
  };
  return () => {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  };
}
