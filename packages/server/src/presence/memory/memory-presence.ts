// INTERIM stand-in so that others can start; the presence engineer replaces this file whole.
import type { Json, LocationFilter } from '../../store/store.ts';
import type { Expiry, PresenceScope, PresenceStore } from '../presence-store.ts';
type Entry = PresenceScope & { userId: string; region: Json; location: Json; expiresAt: number };
export function createMemoryPresence(): PresenceStore {
  const all = new Map<string, Entry>();
  const key = (s: PresenceScope, userId: string, region: string) => JSON.stringify([s.project, s.groupId, userId, region]);
  const mine = (s: PresenceScope, now: number) => [...all.values()].filter((e) => e.project === s.project && e.groupId === s.groupId && e.expiresAt > now);
  const matches = (l: Json, f: LocationFilter) => {
    if (f === null || l === f.location) return true;
    if (!f.partial) return false;
    const a = JSON.parse(l); const b = JSON.parse(f.location);
    return Object.keys(b).every((k) => a[k] === b[k]);
  };
  return {
    async ping() {}, async close() {},
    async set(u) {
      const here = mine(u, u.now).filter((e) => e.userId === u.userId);
      const previous = here.find((e) => e.region === u.region);
      all.set(key(u, u.userId, u.region), { project: u.project, groupId: u.groupId, userId: u.userId, region: u.region, location: u.location, expiresAt: u.expiresAt });
      const after = mine(u, u.now).filter((e) => e.userId === u.userId);
      return { arrived: !here.some((e) => e.location === u.location), departed: previous && !after.some((e) => e.location === previous.location) ? previous.location : null };
    },
    async clear(p) {
      let was = false;
      for (const e of mine(p, p.now)) if (e.userId === p.userId && e.location === p.location) was = all.delete(key(p, e.userId, e.region)) || was;
      return was;
    },
    async find({ filter, after, limit, now, ...scope }) {
      const by = new Map<string, Set<string>>();
      for (const e of mine(scope, now)) if (matches(e.location, filter)) by.set(e.userId, (by.get(e.userId) ?? new Set()).add(e.location));
      return [...by].filter(([id]) => after === null || id > after).sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, limit).map(([userId, l]) => ({ userId, locations: [...l].sort() }));
    },
    async locationsOf({ userId, now, ...scope }) { return [...new Set(mine(scope, now).filter((e) => e.userId === userId).map((e) => e.location))].sort(); },
    async removeUsers(scope, ids) { for (const e of mine(scope, 0)) if (ids.includes(e.userId)) all.delete(key(scope, e.userId, e.region)); },
    async removeGroup(scope) { for (const e of mine(scope, 0)) all.delete(key(scope, e.userId, e.region)); },
    async removeProject(project) { for (const [k, e] of all) if (e.project === project) all.delete(k); },
    async sweep(now) { const out: Expiry[] = []; for (const [k, e] of all) if (e.expiresAt <= now) { all.delete(k); out.push(e); } return out; },
  };
}
