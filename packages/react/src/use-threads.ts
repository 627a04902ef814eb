import type {
  Created,
  RollcallClient,
  RollcallError,
  ThreadFilter,
  ThreadsEvent,
  ViewerThread,
  ViewerThreadCreation,
} from '@rollcall/client';
import { useMemo } from 'react';
import { storeOf } from './client-stores.ts';
import type { LiveStore } from './live-store.ts';
import { type PagedState, pageLoader, recorded } from './page-loader.ts';
import { useProvided } from './rollcall-provider.ts';
import { all, useStore } from './use-store.ts';

/** Which threads, of which group. Without `groupID`, the group is the provider's or the token's. */
export interface ThreadsOptions extends ThreadFilter {
  readonly groupID?: string | undefined;
}

/** The threads of a group, and what the viewer can do. Methods reject with a RollcallError. */
export interface UseThreads {
  /** The latest activity first. */
  readonly threads: readonly ViewerThread[];
  readonly isLoading: boolean;
  readonly error: RollcallError | null;
  readonly hasMore: boolean;
  /** Loads 50 more threads. */
  loadMore(): Promise<void>;
  create(thread: ViewerThreadCreation): Promise<Created>;
}

interface ThreadsState extends PagedState<ThreadsEvent<ViewerThread>> {
  readonly threads: readonly ViewerThread[];
}

const UNREAD: ThreadsState = { threads: [], isLoading: true, error: null, token: null, missed: null };
const MORE_LIMIT = 50;

const threadsStore = (client: RollcallClient, options: ThreadsOptions): LiveStore<ThreadsState> =>
  storeOf<ThreadsState>(client, ['threads', options], UNREAD, async (set, signal) => {
    try {
      for await (const event of client.threads.watch({ ...options, signal })) {
        set((state) => recorded(threadsAfter(state, event), event));
      }
    } catch (error) {
      set(() => ({ ...UNREAD, isLoading: false, error: error as RollcallError }));
    }
  });

const activityOf = (thread: ViewerThread) => thread.lastMessageTimestamp ?? thread.createdTimestamp;

/** The state after an event of the stream. A pure function. */
function threadsAfter(state: ThreadsState, event: ThreadsEvent<ViewerThread>): ThreadsState {
  if (event.type === 'snapshot') {
    return { ...UNREAD, threads: event.threads, isLoading: false, token: event.pagination.token };
  }
  const id = event.type === 'thread' ? event.thread.id : event.id;
  const others = state.threads.filter((thread) => thread.id !== id);
  if (event.type === 'removed') return { ...state, threads: others };
  const { thread } = event;
  const index = others.findIndex((other) => activityOf(other) <= activityOf(thread));
  // It is loaded with its page.
  if (index === -1 && state.token !== null && others.length === state.threads.length) return state;
  return { ...state, threads: others.toSpliced(index === -1 ? others.length : index, 0, thread) };
}

/** The state with one page more, and with what has changed since it was requested. */
function withMore(state: ThreadsState, items: readonly ViewerThread[], token: string | null): ThreadsState {
  const ids = new Set(items.map(({ id }) => id));
  const threads = [...state.threads.filter(({ id }) => !ids.has(id)), ...items];
  return (state.missed ?? []).reduce(threadsAfter, { ...state, threads, token, missed: null });
}

/** The threads of a group, live. */
export function useThreads(options: ThreadsOptions = {}): UseThreads {
  const { client, groupID } = useProvided(options.groupID);
  const { location, partialMatch, resolved } = options;
  const filter = { groupID, location, partialMatch, resolved };
  const store = threadsStore(client, filter);
  const state = useStore(store, all);
  const actions = store.actions(() => ({
    loadMore: pageLoader(store, client.threads.list(filter), MORE_LIMIT, withMore),
    // JSON leaves out what is undefined.
    create: (thread: ViewerThreadCreation) =>
      client.threads.create({ groupID, ...thread } as ViewerThreadCreation),
  }));
  return useMemo(() => {
    const { token, missed: _, ...shown } = state;
    return { ...shown, hasMore: token !== null, ...actions };
  }, [state, actions]);
}
