/** Helpers of the tests of followed groups: the watches of a PresenceStore, and the snapshots of a stream. */
import type { PresenceStore, PresenceWatch, PresenceWatcher } from '../../src/presence/presence-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { SimulatedSink } from './simulated-sink.ts';

/** The watches of a PresenceStore, which a test can read and disturb. */
interface Watched {
  readonly watchers: PresenceWatcher[];
  readonly watches: PresenceWatch[];
  /** The engine is away: nothing can be watched. */
  isAway: boolean;
}

export function watched(presence: PresenceStore): Watched {
  const seen: Watched = { watchers: [], watches: [], isAway: false };
  const watch = presence.watch.bind(presence);
  presence.watch = async (scope, now, watcher) => {
    if (seen.isAway) throw new StoreUnavailableError('away');
    seen.watchers.push(watcher);
    const opened = await watch(scope, now, watcher);
    seen.watches.push(opened);
    return opened;
  };
  return seen;
}

/** How many snapshots the stream has had. */
export const snapshots = ({ parser }: SimulatedSink) =>
  parser.events.filter(({ type }) => type === 'snapshot').length;
