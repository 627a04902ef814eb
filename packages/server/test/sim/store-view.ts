import type { LocationFilter, ProjectKey, Store } from '../../src/store/store.ts';
import { entriesOf, joined } from '../contract/store/entries.ts';
import { shown } from '../support/standing.ts';
import { GROUPS, USERS } from './store-steps.ts';

const FILTERS: readonly LocationFilter[] = [
  null,
  { location: '{"page":"1"}', partial: false },
  { location: '{"page":"1"}', partial: true },
];

/** All that can be read of a project of the simulation, its lists in pages of `limit`. */
export async function everything(store: Store, key: ProjectKey, limit: number): Promise<unknown> {
  const page = { after: null, limit: 100 };
  const [groups, users, ofGroups, ofUsers] = await Promise.all([
    entriesOf((request) => store.listGroups(key, request), limit),
    entriesOf((request) => store.listUsers(key, request), limit),
    Promise.all(GROUPS.map((id) => groupView(store, key, id, limit))),
    Promise.all(USERS.map((id) => userView(store, key, id, limit))),
  ]);
  const { total } = await store.listUsers(key, { ...page, limit: 1 });
  return { groups, users, total, ofGroups, ofUsers };
}

async function groupView(store: Store, key: ProjectKey, id: string, limit: number): Promise<unknown> {
  const group = await store.findGroup(key, id);
  const first = await store.listMembers(key, id, { after: null, limit: 1 });
  const page = { after: null, limit: limit * 2 };
  return {
    group: group && { ...group, members: await joined(group.members) },
    exists: await store.groupExists(key, id),
    total: first?.total,
    members:
      first &&
      (await entriesOf(async (request) => (await store.listMembers(key, id, request)) ?? first, limit)),
    presence: await Promise.all(FILTERS.map((filter) => store.listDurablePresence(key, id, filter, page))),
    durable: await Promise.all(USERS.map((user) => store.findDurablePresence(key, id, user))),
    presentable: [...(await store.presentable(key, id, USERS)).keys()],
    standing: shown(await store.standing(key, id, USERS[limit % USERS.length] as string)),
  };
}

async function userView(store: Store, key: ProjectKey, id: string, limit: number): Promise<unknown> {
  const user = await store.findUser(key, id);
  const first = await store.listUserGroups(key, id, { after: null, limit: 1 });
  return {
    // The fields of the port: a driver's record may carry more.
    user: user && [user.name, user.shortName, user.email, user.profilePictureUrl, user.status, user.metadata],
    times: user && [user.createdAt, user.updatedAt, user.revision],
    preferences: await store.findPreferences(key, id),
    total: first?.total,
    groups:
      first &&
      (await entriesOf(async (request) => (await store.listUserGroups(key, id, request)) ?? first, limit)),
  };
}
