/** The readings of the naive model: its entries as JSON, and its pages. */
import { compareCodePoints, locationMatches } from '@rollcall/protocol';
import type { DurablePresence } from '../../src/store/ports/durable-presence.ts';
import type { Json } from '../../src/values/json.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import type { Page, PageRequest, TotalPage } from '../../src/values/page.ts';
import { ascending, type ModelPresence, type ModelUser } from './model-world.ts';

export const byId = (a: { readonly id: string }, b: { readonly id: string }) => compareCodePoints(a.id, b.id);

export const isAfter = (id: string, after: string | null) =>
  after === null || compareCodePoints(id, after) > 0;

/** The fields of a JSON object, without its braces. */
export const fields = (object: Record<string, unknown>) => JSON.stringify(object).slice(1, -1);

export function userEntry({
  id,
  name,
  shortName,
  email,
  profilePictureUrl,
  status,
  ...user
}: ModelUser): Json {
  const texts = { id, name, short_name: shortName, email, profile_picture_url: profilePictureUrl, status };
  const times = {
    created_at: new Date(user.createdAt).toISOString(),
    updated_at: new Date(user.updatedAt).toISOString(),
  };
  return `{${fields(texts)},"metadata":${user.metadata},${fields(times)}}`;
}

export function pageOf(
  ids: Iterable<string>,
  { after, limit }: PageRequest,
  entry: (id: string) => Json,
): Page {
  const rest = ascending(ids).filter((id) => isAfter(id, after));
  const taken = rest.slice(0, limit);
  const last = rest.length > taken.length ? (taken.at(-1) ?? null) : null;
  return { items: taken.map(entry).join(','), count: taken.length, last };
}

export function totalPageOf(
  ids: readonly string[],
  request: PageRequest,
  entry: (id: string) => Json,
): TotalPage {
  return { ...pageOf(ids, request, entry), total: ids.length };
}

export function passes(location: Json, filter: LocationFilter): boolean {
  if (filter === null || location === filter.location) return true;
  return filter.partial && locationMatches(JSON.parse(location), JSON.parse(filter.location));
}

/** The entry with the latest time. */
export function latest(entries: readonly ModelPresence[]): DurablePresence | null {
  const [first, ...others] = entries;
  if (first === undefined) return null;
  const { userId, location, at } = others.reduce(
    (best, entry) => (entry.at >= best.at ? entry : best),
    first,
  );
  return { userId, location, at };
}
