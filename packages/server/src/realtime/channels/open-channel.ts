import type { Clock } from '../../core/clock.ts';
import type { Store } from '../../store/store.ts';
import { type LatestLocations, readAllDurable, readDurable } from '../views/durable-reading.ts';
import type { FeedState } from '../views/feed-state.ts';
import { presentableOf } from '../views/presentable.ts';
import type { Channel } from './channel.ts';

type InOrder = (task: () => Promise<void>) => Promise<void>;

/**
 * Reads a channel's durable locations and opens it; the readers that it has get a snapshot. The group's events continue
 * meanwhile. Users whose locations they change are read again in the end, while the state does not change.
 */
export async function openChannel(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  state: FeedState,
  channel: Channel,
  inOrder: InOrder,
): Promise<void> {
  const stale = channel.suspend();
  const locations = await readLocations(store, state, channel);
  await inOrder(async () => {
    // The channel was suspended again since; the task that did so opens it.
    if (channel.stale !== stale) return;
    const latest = await upToDate(locations, stale.userIds, store, state, channel);
    // Of users whom the group's events have not shown yet, what is stored can be outdated.
    const early = [...latest.keys()].filter((userId) => !state.has(userId));
    if (channel.view.showsUsers) state.profiles.need();
    await state.profiles.read(store, state.scope, [...state.profiles.unknown(state.userIds()), ...early]);
    channel.view.replaceDurable(latest);
    channel.restart(clock.now());
    if (channel.readers.size > 0) await channel.reopen();
  });
}

/** Of a channel without a filter nothing is read: the state has what it shows. */
async function readLocations(store: Store, state: FeedState, { view }: Channel): Promise<LatestLocations> {
  const { location, excludeDurable } = view.filter;
  return excludeDurable || location === null ? new Map() : readAllDurable(store, state.scope, location);
}

async function upToDate(
  locations: LatestLocations,
  stale: ReadonlySet<string> | null,
  store: Store,
  state: FeedState,
  channel: Channel,
): Promise<LatestLocations> {
  const { location, excludeDurable } = channel.view.filter;
  if (excludeDurable) return locations;
  if (location === null) return state.unfiltered.allDurable();
  if (stale === null) return readLocations(store, state, channel);
  if (stale.size === 0) return locations;
  const visible = [...(await presentableOf(store, state.scope, [...stale])).keys()];
  const again = await readDurable(store, state.scope, location, visible);
  for (const userId of stale) locations.delete(userId);
  for (const [userId, latest] of again) locations.set(userId, latest);
  return locations;
}
