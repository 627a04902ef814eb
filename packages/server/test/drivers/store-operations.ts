/** One call of each method of the Store, for tests of what a driver sends. */
import type { Store } from '../../src/store/store.ts';
import { numbered, type Roster } from '../contract/store/roster.ts';

const PAGE = { after: null, limit: 10 };
export const PLACE = { userId: 'u000001', groupId: 'g', region: '{"p":"1"}', location: '{"p":"1"}' };
const SITE_PAGE = '{"p":"1","s":"2"}';

export type Operation = (roster: Roster, size: number) => Promise<unknown>;
type Operations = Partial<Record<keyof Store, Operation>>;

export const READS: Operations = {
  ping: ({ store }) => store.ping(),
  findCustomer: ({ store }) => store.findCustomer('c'),
  listCustomers: ({ store }) => store.listCustomers(),
  findProject: ({ store }) => store.findProject('p'),
  listProjects: ({ store }) => store.listProjects('c'),
  findSession: ({ store }) => store.findSession('s'),
  findGroup: ({ store, key }) => store.findGroup(key, 'g'),
  groupExists: ({ store, key }) => store.groupExists(key, 'g'),
  listGroups: ({ store, key }) => store.listGroups(key, PAGE),
  listMembers: ({ store, key }) => store.listMembers(key, 'g', PAGE),
  findUser: ({ store, key }) => store.findUser(key, 'u000001'),
  listUsers: ({ store, key }) => store.listUsers(key, PAGE),
  listUserGroups: ({ store, key }) => store.listUserGroups(key, 'u000001', PAGE),
  findPreferences: ({ store, key }) => store.findPreferences(key, 'u000001'),
  standing: ({ store, key }) => store.standing(key, 'g', 'u000001'),
  standings: ({ store, key }) => store.standings(key, [{ groupId: 'g', userId: 'u000001' }]),
  presentable: ({ store, key }) => store.presentable(key, 'g', ['u000001']),
  listDurablePresence: ({ store, key }) =>
    store.listDurablePresence(key, 'g', { location: SITE_PAGE, partial: true }, PAGE),
  findDurablePresence: ({ store, key }) => store.findDurablePresence(key, 'g', 'u000001'),
};

/** Other forms of reads, for their plans. */
export const MORE_READS: readonly Operation[] = [
  ({ store }) => store.listProjects(null),
  ({ store, key }) => store.listDurablePresence(key, 'g', null, PAGE),
  ({ store, key }) => store.listDurablePresence(key, 'g', { location: PLACE.location, partial: false }, PAGE),
];

/** Each changes something, about so many items. */
export const WRITES: Operations = {
  createCustomer: ({ store }) => store.createCustomer({ id: 'c', secret: 's', name: 'C', createdAt: 1 }),
  createProject: ({ store }, size) =>
    store.createProject({ id: `p${size}`, customerId: 'c', name: 'P', secret: 's', createdAt: 1 }),
  renameProject: ({ store, key }) => store.renameProject(key, 'N'),
  rotateSecret: ({ store, key }) => store.rotateSecret(key, 's', 1),
  serviceKey: ({ store }) => store.serviceKey(),
  createSession: ({ store, key }, size) =>
    store.createSession({ id: `s${size}`, project: key, expiresAt: 1 }),
  revokeSession: ({ store }) => store.revokeSession('s1'),
  removeExpiredSessions: ({ store }) => store.removeExpiredSessions(2),
  putUser: (roster, size) => roster.putUser(`new${size}`, { name: 'N' }),
  putPreferences: ({ store, key }) => store.putPreferences(key, 'u000001', { sendViaEmail: false }),
  applyBatch: (roster, size) =>
    roster.batch({
      users: numbered('u', size).map((id) => ({ id, name: `name of ${size}` })),
      groups: numbered('g', Math.min(size, 1_000)).map((id) => ({
        id,
        name: `name of ${size}`,
        members: numbered('u', Math.min(size, 50)),
      })),
    }),
  putGroup: (roster, size) =>
    roster.putGroup('h', { name: 'H', members: size === 1 ? ['u000002'] : numbered('u', size) }),
  changeMembers: (roster, size) =>
    roster.changeMembers('h', {
      add: ['u000001', 'u000003'],
      remove: size === 1 ? ['u000002'] : numbered('u', size).slice(5),
    }),
  connectGroup: (roster, size) => roster.connectGroup('g', `W${size}`),
  putDurablePresence: ({ store, key }, size) =>
    store.putDurablePresence(
      key,
      { ...PLACE, region: '{"s":"2"}', location: SITE_PAGE },
      { now: size, revision: 'r' },
    ),
  deleteUser: (roster, size) => roster.deleteUser(`new${size}`),
  deleteGroup: (roster) => roster.deleteGroup('h'),
  carryIn: ({ store, key }, size) =>
    store.carryIn(
      numbered('c', size).map((id) => ({
        type: 'customer',
        id,
        secret: 's',
        name: String(key),
        createdAt: 1,
      })),
      { now: 1, revision: 'r' },
    ),
};

/** Hot writes that are one statement. */
export const SINGLE: Readonly<Record<string, Operation>> = {
  'putGroup of a name': (roster, size) => roster.putGroup('g', { name: `N${size}` }),
  'putGroup that changes nothing': (roster) => roster.putGroup('g', {}),
  'putUser of somebody who is there': (roster, size) => roster.putUser('u000001', { name: `N${size}` }),
  putPreferences: ({ store, key }) => store.putPreferences(key, 'u000001', { sendViaEmail: true }),
  'putDurablePresence in its own region': ({ store, key }, size) =>
    store.putDurablePresence(key, PLACE, { now: size, revision: 'r' }),
  connectGroup: (roster, size) => roster.connectGroup('g', `X${size}`),
};
