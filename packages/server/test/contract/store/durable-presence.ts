/** Durable presence in the group `g`, for its contract suites. */
import { canonicalLocation } from '@rollcall/protocol';
import type { LocationFilter } from '../../../src/values/location-filter.ts';
import { BY_TEST } from '../../support/origin.ts';
import type { Roster } from './roster.ts';

export const PAGE_1 = canonicalLocation({ page: '1' });
export const PAGE_2 = canonicalLocation({ page: '2' });
export const EVERYWHERE = null;

export function putPresence(
  roster: Roster,
  userId: string,
  location: string,
  now: number,
  region = location,
) {
  const context = { now, revision: `p${now}`, ...BY_TEST };
  return roster.store.durablePresence.put(roster.key, { userId, groupId: 'g', region, location }, context);
}

export const found = (roster: Roster, userId: string) =>
  roster.store.durablePresence.find(roster.key, 'g', userId);

export const listed = (roster: Roster, filter: LocationFilter) =>
  roster.store.durablePresence.list(roster.key, 'g', filter, { after: null, limit: 10_000 });

export const presentUsers = async (roster: Roster, filter: LocationFilter) =>
  (await listed(roster, filter)).map(({ userId }) => userId);
