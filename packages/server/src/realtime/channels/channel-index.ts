import type { LocationFilter } from '../../values/location-filter.ts';
import { cachedPairsOf, pairsOf } from '../../values/location-pairs.ts';

interface Filtered {
  readonly view: { readonly filter: { readonly location: LocationFilter } };
}

/** The key of channels that show every location. */
const EVERYWHERE = '';

/**
 * Finds the channels that may show a location, so that the cost of an event does not grow with the number of filters of the
 * group. A channel has one key: one pair of its filter, the one with the fewest channels when it was added, or the whole
 * location where the filter is exact. Costs one reference for each channel, and a map entry for each key.
 */
export class ChannelIndex<Channel extends Filtered> {
  readonly #channels = new Map<string, Set<Channel>>();
  readonly #keys = new Map<Channel, string>();

  add(channel: Channel): void {
    const keys = keysOf(channel.view.filter.location);
    const [first = EVERYWHERE] = keys;
    const key = keys.reduce((best, other) => (this.#count(other) < this.#count(best) ? other : best), first);
    this.#keys.set(channel, key);
    const channels = this.#channels.get(key);
    if (channels === undefined) this.#channels.set(key, new Set([channel]));
    else channels.add(channel);
  }

  remove(channel: Channel): void {
    const key = this.#keys.get(channel);
    if (key === undefined) return;
    this.#keys.delete(channel);
    const channels = this.#channels.get(key);
    channels?.delete(channel);
    if (channels?.size === 0) this.#channels.delete(key);
  }

  /** All channels that may show one of these locations, each once; among them some that do not. */
  near(...locations: readonly string[]): ReadonlySet<Channel> {
    const everywhere = this.#channels.get(EVERYWHERE);
    if (everywhere?.size === this.#keys.size) return everywhere;
    const found = new Set(everywhere);
    for (const location of locations) {
      for (const key of [exactKey(location), ...cachedPairsOf(location)]) {
        for (const channel of this.#channels.get(key) ?? []) found.add(channel);
      }
    }
    return found;
  }

  #count(key: string): number {
    return this.#channels.get(key)?.size ?? 0;
  }
}

/** The possible keys of a channel with this filter. */
function keysOf(filter: LocationFilter): readonly string[] {
  if (filter === null) return [];
  return filter.partial ? pairsOf(filter.location) : [exactKey(filter.location)];
}

const exactKey = (location: string) => `= ${location}`;
