import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { Channel } from './channel.ts';
import { readAllDurable, readDurable } from './durable-reading.ts';
import type { FeedState } from './feed-state.ts';
import type { DurablePlace } from './filtered-view.ts';
import { presentableOf } from './presentable.ts';

type InOrder = (task: () => Promise<void>) => Promise<void>;
type Places = Map<string, DurablePlace>;

/**
 * Reads a channel's durable places and opens it; those who read it already are given a snapshot. The group goes on being
 * followed meanwhile: what changes is read again in the end, when the state stands still.
 */
export async function openChannel(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  state: FeedState,
  channel: Channel,
  inOrder: InOrder,
): Promise<void> {
  const unread = channel.shut();
  const places = await readPlaces(store, state, channel);
  await inOrder(async () => {
    // It was shut again since, and is opened by whoever did so.
    if (channel.unread !== unread) return;
    channel.view.learn(await upToDate(places, unread.ids, store, state, channel));
    channel.restart(clock.now());
    if (channel.readers.size > 0) await channel.reopen();
  });
}

async function readPlaces(store: Store, state: FeedState, { view }: Channel): Promise<Places> {
  return view.filter.excludeDurable ? new Map() : readAllDurable(store, state.scope, view.filter.location);
}

async function upToDate(
  places: Places,
  unread: ReadonlySet<string> | null,
  store: Store,
  state: FeedState,
  channel: Channel,
): Promise<Places> {
  if (unread === null) return readPlaces(store, state, channel);
  if (unread.size === 0 || channel.view.filter.excludeDurable) return places;
  const visible = [...(await presentableOf(store, state.scope, [...unread])).keys()];
  const again = await readDurable(store, state.scope, channel.view.filter.location, visible);
  for (const id of unread) places.delete(id);
  for (const [id, place] of again) places.set(id, place);
  return places;
}
