import { limits } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { Presence } from './presence.ts';

/** Presences that end together: those of a location in a region, or of a connection. */
interface Bundle {
  readonly presences: Presence[];
  /** The latest deadline. */
  endsAt: number;
}

/**
 * The presences of a user that have to end, so that all of them with the latest one are within the bounds: see the port. A few,
 * which cannot exceed a bound, are only counted.
 */
export function excessOf(own: readonly Presence[], latest: Presence): readonly Presence[] {
  if (own.length * limits.LOCATION_MAX_BYTES <= limits.EPHEMERAL_LOCATIONS_MAX_BYTES) return [];
  const ended = new Set<Presence>();
  const left = () => (ended.size === 0 ? own : own.filter((presence) => !ended.has(presence)));
  const end = ({ presences }: Bundle) => {
    for (const presence of presences) ended.add(presence);
  };
  const holds = own.map((presence) => ({ presences: [presence], endsAt: presence.endsAt }));
  for (const hold of beyond(holds, limits.HOLDS_MAX, latest)) end(hold);
  for (const connection of beyond(connectionsOf(left()), limits.CONNECTIONS_MAX, latest)) end(connection);
  const locations = locationsOf(left());
  let count = locations.length;
  let bytes = locations.reduce((sum, location) => sum + bytesOf(location), 0);
  for (const location of earliestFirst(locations, latest)) {
    if (count <= limits.EPHEMERAL_LOCATIONS_MAX && bytes <= limits.EPHEMERAL_LOCATIONS_MAX_BYTES) break;
    count -= 1;
    bytes -= bytesOf(location);
    end(location);
  }
  return [...ended];
}

const bytesOf = ({ presences }: Bundle) => Buffer.byteLength((presences[0] as Presence).location);

/** Those that are too many, the earliest deadlines first. */
function beyond(bundles: readonly Bundle[], max: number, latest: Presence): readonly Bundle[] {
  return bundles.length <= max ? [] : earliestFirst(bundles, latest).slice(0, bundles.length - max);
}

const earliestFirst = (bundles: readonly Bundle[], latest: Presence) =>
  bundles.filter(({ presences }) => !presences.includes(latest)).sort((a, b) => a.endsAt - b.endsAt);

function connectionsOf(own: readonly Presence[]): Bundle[] {
  const connections = new Map<string, Bundle>();
  for (const presence of own) {
    if (presence.connection !== null) addTo(connections, presence.connection, presence);
  }
  return [...connections.values()];
}

function locationsOf(own: readonly Presence[]): Bundle[] {
  const regions = new Map<Json, Map<Json, Bundle>>();
  for (const presence of own) {
    let locations = regions.get(presence.region);
    if (locations === undefined) {
      locations = new Map();
      regions.set(presence.region, locations);
    }
    addTo(locations, presence.location, presence);
  }
  return [...regions.values()].flatMap((locations) => [...locations.values()]);
}

function addTo(bundles: Map<string, Bundle>, name: string, presence: Presence): void {
  const known = bundles.get(name);
  if (known === undefined) {
    bundles.set(name, { presences: [presence], endsAt: presence.endsAt });
    return;
  }
  known.presences.push(presence);
  known.endsAt = Math.max(known.endsAt, presence.endsAt);
}
