/** One call of each method of the Store, for tests of what a driver sends. */

import type { Store } from '../../src/store/store.ts';
import { numbered, type Roster } from '../contract/store/roster.ts';
import { BY_TEST, CONTEXT } from '../support/origin.ts';

const PAGE = { after: null, limit: 10 };
const WITHIN = { ...PAGE, maxBytes: 1_000_000 };
const ANY_THREAD = { groupId: null, location: null, resolved: null };
export const DURABLE_UPDATE = { userId: 'u000001', groupId: 'g', region: '{"p":"1"}', location: '{"p":"1"}' };
const SITE_PAGE = '{"p":"1","s":"2"}';

export type Operation = (roster: Roster, size: number) => Promise<unknown>;
type Operations = Readonly<Record<string, Operation>>;

/** A text node; what `appendable` has can be appended to. */
const content = { json: '[{"text":"said"}]', markdownLength: null, userIds: ['u000002'] };
const appendable = {
  json: '[{"type":"markdown","children":[{"text":"said"}]}]',
  markdownLength: 4,
  userIds: [],
};
const BY = { authorId: 'u000001' };

const WEBHOOK = { url: 'https://receiver.invalid/', secret: 's' };
const ATTEMPT = { webhookId: 'd', at: 1, status: 200, error: null, milliseconds: 1, answer: '' };
const CLAIM = { now: Date.now(), until: Date.now(), own: [], hasRepeats: true };
const STEP = { version: 0, position: 0, isReleased: true } as const;

const write = (size: number) => ({ ...CONTEXT, now: size, revision: `r${size}` });
const location = (size: number) => JSON.stringify({ p: `${size}`, s: '2' });

/** Makes the thread `t` of the group `g`, with the messages `m` and `n`, and the webhook `w`, for the operations below. */
export async function converse({ store, key }: Roster): Promise<void> {
  const thread = { groupId: 'g', name: 'T', location: SITE_PAGE };
  await store.threads.put(key, 't', thread, CONTEXT);
  await store.messages.put(key, 't', 'm', { ...BY, content: appendable }, CONTEXT);
  await store.messages.put(key, 't', 'n', { ...BY, content }, CONTEXT);
  await store.threads.markSeen(key, 't', { userId: 'u000002', messageId: null }, { ...CONTEXT, now: 1 });
  await store.webhooks.put(key, 'w', { ...WEBHOOK, start: null }, 1_000, CONTEXT);
}

/** The methods of a store and of its ports, as `groups.put`. */
export const methodsOf = (store: Store): string[] =>
  Object.entries(store).flatMap(([name, member]) => {
    if (typeof member === 'function') return [name];
    return typeof member === 'object' && !Array.isArray(member)
      ? Object.keys(member).map((method) => `${name}.${method}`)
      : [];
  });

export const READS: Operations = {
  ping: ({ store }) => store.ping(),
  'customers.find': ({ store }) => store.customers.find('c'),
  'customers.list': ({ store }) => store.customers.list(),
  'projects.find': ({ store }) => store.projects.find('p'),
  'projects.list': ({ store }) => store.projects.list('c'),
  'sessions.find': ({ store }) => store.sessions.find('s'),
  'groups.find': ({ store, key }) => store.groups.find(key, 'g'),
  'groups.exists': ({ store, key }) => store.groups.exists(key, 'g'),
  'groups.listByIds': ({ store, key }) => store.groups.listByIds(key, ['g', 'h']),
  'users.listByIds': ({ store, key }) => store.users.listByIds(key, ['u000001', 'u000002']),
  'groups.list': ({ store, key }) => store.groups.list(key, PAGE),
  'members.list': ({ store, key }) => store.members.list(key, 'g', PAGE),
  'users.find': ({ store, key }) => store.users.find(key, 'u000001'),
  'users.list': ({ store, key }) => store.users.list(key, PAGE),
  'members.listGroups': ({ store, key }) => store.members.listGroups(key, 'u000001', PAGE),
  'preferences.find': ({ store, key }) => store.preferences.find(key, 'u000001'),
  'eligibility.find': ({ store, key }) => store.eligibility.find(key, 'g', 'u000001'),
  'eligibility.findMany': ({ store, key }) =>
    store.eligibility.findMany(key, [{ groupId: 'g', userId: 'u000001' }]),
  'eligibility.filter': ({ store, key }) => store.eligibility.filter(key, 'g', ['u000001']),
  'durablePresence.list': ({ store, key }) =>
    store.durablePresence.list(key, 'g', { location: SITE_PAGE, partial: true }, PAGE),
  'changes.read': ({ store, key }) => store.changes.read(key, 0, 10),
  'changes.extent': ({ store }) => store.changes.extent(),
  'changes.readTopics': ({ store, key }) => store.changes.readTopics(key, ['gg', 'u'], 0, 10),
  'threads.find': ({ store, key }) => store.threads.find(key, 't', 'u000002'),
  'threads.list': ({ store, key }) =>
    store.threads.list(key, { filter: ANY_THREAD, ...WITHIN, viewer: 'u000002' }),
  'messages.find': ({ store, key }) => store.messages.find(key, 't', 'm'),
  'conversationFeed.positions': ({ store, key }) => store.conversationFeed.positions(key, ['t']),
  'conversationFeed.changesSince': ({ store, key }) => store.conversationFeed.changesSince(key, 't', 0),
  'conversationFeed.unread': ({ store, key }) => store.conversationFeed.unread(key, 't', ['u000002']),
  'conversationFeed.revisions': ({ store, key }) => store.conversationFeed.revisions(key, 'g', null),
  'messages.list': ({ store, key }) => store.messages.list(key, 't', { order: 'descending', ...WITHIN }),
  'webhooks.find': ({ store, key }) => store.webhooks.find(key, 'w'),
  'webhooks.list': ({ store, key }) => store.webhooks.list(key),
  'webhooks.attempts': ({ store, key }) => store.webhooks.attempts(key, 'w', 10),
  'webhookLeases.countFailing': ({ store }) => store.webhookLeases.countFailing(),
  'webhookLeases.work': ({ store }) => store.webhookLeases.work({ now: 1, own: [] }),
  'durablePresence.find': ({ store, key }) => store.durablePresence.find(key, 'g', 'u000001'),
};

/** Other forms of reads, for their plans. */
export const MORE_READS: readonly Operation[] = [
  ({ store }) => store.projects.list(null),
  ({ store, key }) => store.durablePresence.list(key, 'g', null, PAGE),
  ({ store, key }) =>
    store.durablePresence.list(key, 'g', { location: DURABLE_UPDATE.location, partial: false }, PAGE),
  ({ store, key }) => store.messages.list(key, 't', { order: 'ascending', ...WITHIN }),
  ...[false, true].map(
    (partial): Operation =>
      ({ store, key }) => {
        const filter = { groupId: 'g', location: { location: SITE_PAGE, partial }, resolved: false };
        return store.threads.list(key, { filter, ...WITHIN, viewer: null });
      },
  ),
];

/** Each changes something, about so many items. */
export const WRITES: Operations = {
  'customers.create': ({ store }) =>
    store.customers.create({ id: 'c', secret: 's', name: 'C', createdAt: 1 }),
  'projects.create': ({ store }, size) =>
    store.projects.create({ id: `p${size}`, customerId: 'c', name: 'P', secret: 's', createdAt: 1 }),
  'projects.rename': ({ store, key }) => store.projects.rename(key, 'N', CONTEXT),
  'projects.rotateSecret': ({ store, key }) =>
    store.projects.rotateSecret(key, { secret: 's', previousValidUntil: 1 }, CONTEXT),
  'sessions.serviceKey': ({ store }) => store.sessions.serviceKey(),
  'sessions.create': ({ store, key }, size) =>
    store.sessions.create(key, { id: `s${size}`, expiresAt: 1 }, CONTEXT),
  'sessions.revoke': ({ store, key }, size) => store.sessions.revoke(key, `s${size}`, CONTEXT),
  'sessions.removeExpired': ({ store }) => store.sessions.removeExpired(2),
  'changes.order': ({ store, key }) => store.changes.order([key]),
  'changes.removeBefore': ({ store }) => store.changes.removeBefore(0),
  'users.put': (roster, size) => roster.putUser(`new${size}`, { name: 'N' }),
  'preferences.put': ({ store, key }) =>
    store.preferences.put(key, 'u000001', { sendViaEmail: false }, CONTEXT),
  'batches.apply': (roster, size) =>
    roster.batch({
      users: numbered('u', size).map((id) => ({ id, name: `name of ${size}` })),
      groups: numbered('g', Math.min(size, 1_000)).map((id) => ({
        id,
        name: `name of ${size}`,
        members: numbered('u', Math.min(size, 50)),
      })),
    }),
  'groups.put': (roster, size) =>
    roster.putGroup('h', { name: 'H', members: size === 1 ? ['u000002'] : numbered('u', size) }),
  'members.change': (roster, size) =>
    roster.changeMembers('h', {
      add: ['u000001', 'u000003'],
      remove: size === 1 ? ['u000002'] : numbered('u', size).slice(5),
    }),
  'groups.connect': (roster, size) => roster.connectGroup('g', `W${size}`),
  'durablePresence.put': ({ store, key }, size) =>
    store.durablePresence.put(
      key,
      { ...DURABLE_UPDATE, region: '{"s":"2"}', location: SITE_PAGE },
      { now: size, revision: 'r', ...BY_TEST },
    ),
  'durablePresence.putMany': ({ store, key }, size) =>
    store.durablePresence.putMany(
      key,
      numbered('u', Math.max(2, Math.min(size, 1_000))).map((userId) => ({
        ...{ ...DURABLE_UPDATE, userId },
        ...{ region: '{"s":"2"}', location: location(size) },
      })),
      { now: size, revision: 'r', ...BY_TEST },
    ),
  'threads.put': ({ store, key }, size) =>
    store.threads.put(key, `t${size}`, { groupId: 'g', name: 'T', location: location(size) }, write(size)),
  'threads.put of what is there': ({ store, key }, size) =>
    store.threads.put(key, 't', { name: `T${size}`, location: location(size), resolved: true }, write(size)),
  'threads.markSeen': ({ store, key }, size) =>
    store.threads.markSeen(key, 't', { userId: 'u000003', messageId: null }, write(size)),
  'messages.put': ({ store, key }, size) =>
    store.messages.put(key, 't', `m${size}`, { ...BY, content }, write(size)),
  'messages.put with a thread': ({ store, key }, size) => {
    const createThread = { groupId: 'g', name: 'T', location: location(size) };
    return store.messages.put(
      key,
      `u${size}`,
      'm',
      { ...BY, content: appendable, createThread },
      write(size),
    );
  },
  'messages.append': ({ store, key }, size) =>
    store.messages.append(key, `u${size}`, 'm', { escaped: 'more', length: 4, offset: null }, write(size)),
  'messages.put of what is there': ({ store, key }, size) =>
    store.messages.put(key, `u${size}`, 'm', { content, deleted: true }, write(size)),
  'messages.delete': ({ store, key }, size) => store.messages.delete(key, 't', `m${size}`, write(size)),
  'threads.delete': ({ store, key }, size) => store.threads.delete(key, `t${size}`, write(size)),
  'webhooks.put': ({ store, key }, size) =>
    store.webhooks.put(key, `w${size}`, { ...WEBHOOK, types: null, start: null }, 1_000, CONTEXT),
  'webhooks.put of what is there': ({ store, key }, size) =>
    store.webhooks.put(key, 'w', { ...WEBHOOK, types: [`${size}`], start: null }, 1_000, CONTEXT),
  'webhooks.rotateSecret': ({ store, key }) =>
    store.webhooks.rotateSecret(key, 'w', { secret: 't', previousValidUntil: 1 }, CONTEXT),
  'webhooks.replay': ({ store, key }) => store.webhooks.replay(key, 'w', { position: 1, index: 0 }, CONTEXT),
  'webhooks.log': ({ store, key }) => store.webhooks.log(key, 'w', ATTEMPT),
  'webhookLeases.claim': ({ store, key }, size) =>
    store.webhookLeases.claim([key], { ...CLAIM, leases: [`l${size}`] }),
  'webhooks.advance': ({ store, key }, size) =>
    store.webhooks.advance(key, 'w', `l${size}`, { ...STEP, attempt: ATTEMPT }, CONTEXT),
  'webhookLeases.renew': ({ store, key }, size) =>
    store.webhookLeases.renew([{ project: key, id: 'w', lease: `l${size}` }], 2),
  'webhooks.delete': ({ store, key }, size) => store.webhooks.delete(key, `w${size}`, CONTEXT),
  'users.delete': (roster, size) => roster.deleteUser(`new${size}`),
  'groups.delete': (roster) => roster.deleteGroup('h'),
};

/** Hot writes that are one statement. */
export const SINGLE: Readonly<Record<string, Operation>> = {
  'groups.put of a name': (roster, size) => roster.putGroup('g', { name: `N${size}` }),
  'groups.put that changes nothing': (roster) => roster.putGroup('g', {}),
  'users.put of a user who exists': (roster, size) => roster.putUser('u000001', { name: `N${size}` }),
  'preferences.put': ({ store, key }) =>
    store.preferences.put(key, 'u000001', { sendViaEmail: true }, CONTEXT),
  'durablePresence.put in its own region': ({ store, key }, size) =>
    store.durablePresence.put(key, DURABLE_UPDATE, { now: size, revision: 'r', ...BY_TEST }),
  'durablePresence.put that moves within a region': ({ store, key }, size) => {
    const location = JSON.stringify({ p: '1', s: `${size}` });
    const update = { ...DURABLE_UPDATE, region: '{"p":"1"}', location };
    return store.durablePresence.put(key, update, { now: size, revision: 'r', ...BY_TEST });
  },
  'groups.connect': (roster, size) => roster.connectGroup('g', `X${size}`),
};
