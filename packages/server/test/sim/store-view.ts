import assert from 'node:assert/strict';
import { compareCodePoints } from '@rollcall/protocol';
import type { MessagePage } from '../../src/store/ports/messages.ts';
import type { ThreadFilter, ThreadPage, ThreadRecord } from '../../src/store/ports/threads.ts';
import type { Store } from '../../src/store/store.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { withoutPosition } from '../contract/store/conversation.ts';
import { entriesOf, joined } from '../contract/store/entries.ts';
import { shown } from '../support/shown-eligibility.ts';
import { MESSAGES, THREADS } from './conversation-steps.ts';
import { GROUPS, USERS } from './steps.ts';

const FILTERS: readonly LocationFilter[] = [
  null,
  { location: '{"page":"1"}', partial: false },
  { location: '{"page":"1"}', partial: true },
];

/** All data of a project that can be read, its lists in pages of `limit`. */
export async function everything(store: Store, key: ProjectKey, limit: number): Promise<unknown> {
  const page = { after: null, limit: 100 };
  const [groups, users, ofGroups, ofUsers, ofThreads, lists] = await Promise.all([
    entriesOf((request) => store.groups.list(key, request), limit),
    entriesOf((request) => store.users.list(key, request), limit),
    Promise.all(GROUPS.map((id) => groupView(store, key, id, limit))),
    Promise.all(USERS.map((id) => userView(store, key, id, limit))),
    Promise.all(THREADS.map((id) => threadView(store, key, id, limit))),
    Promise.all(threadFilters(limit).map((filter) => threadList(store, key, filter, limit))),
  ]);
  const { total } = await store.users.list(key, { ...page, limit: 1 });
  return { groups, users, total, ofGroups, ofUsers, ofThreads, lists };
}

async function groupView(store: Store, key: ProjectKey, id: string, limit: number): Promise<unknown> {
  const group = await store.groups.find(key, id);
  const first = await store.members.list(key, id, { after: null, limit: 1 });
  const page = { after: null, limit: limit * 2 };
  return {
    group: group && { ...group, members: await joined(group.members) },
    exists: await store.groups.exists(key, id),
    total: first?.total,
    members:
      first &&
      (await entriesOf(async (request) => (await store.members.list(key, id, request)) ?? first, limit)),
    presence: await Promise.all(FILTERS.map((filter) => store.durablePresence.list(key, id, filter, page))),
    durable: await Promise.all(USERS.map((user) => store.durablePresence.find(key, id, user))),
    presentable: [...(await store.eligibility.filter(key, id, USERS)).keys()],
    eligibility: shown(await store.eligibility.find(key, id, USERS[limit % USERS.length] as string)),
  };
}

async function userView(store: Store, key: ProjectKey, id: string, limit: number): Promise<unknown> {
  const user = await store.users.find(key, id);
  const first = await store.members.listGroups(key, id, { after: null, limit: 1 });
  return {
    // The fields of the port: a driver's record may have more.
    user: user && [user.name, user.shortName, user.email, user.profilePictureUrl, user.status, user.metadata],
    times: user && [user.createdAt, user.updatedAt, user.revision],
    preferences: await store.preferences.find(key, id),
    total: first?.total,
    groups:
      first &&
      (await entriesOf(
        async (request) => (await store.members.listGroups(key, id, request)) ?? first,
        limit,
      )),
  };
}

const PAGE_BYTES = 1_000_000;

/** Participants who have seen a thread up to the same time are put in order of ID: a driver may order them as it likes. */
function comparableThread(thread: ThreadRecord | null): ThreadRecord | null {
  if (thread === null) return null;
  const participants = thread.participants.toSorted(
    (a, b) => b.lastSeenAt - a.lastSeenAt || compareCodePoints(a.userId, b.userId),
  );
  const isInOrder = thread.participants.every(
    ({ lastSeenAt }, index) => lastSeenAt === participants[index]?.lastSeenAt,
  );
  assert.ok(isInOrder, 'those who have seen the thread most recently come first');
  return { ...thread, participants };
}

async function threadView(store: Store, key: ProjectKey, id: string, limit: number): Promise<unknown> {
  const viewer = USERS[limit % USERS.length] as string;
  return {
    thread: comparableThread(await store.threads.find(key, id, viewer)),
    messages: await Promise.all(
      MESSAGES.map(async (message) => {
        const found = await store.messages.find(key, id, message);
        return found.kind === 'found' ? { ...found, message: withoutPosition(found.message) } : found;
      }),
    ),
    inOrder: await messageList(store, key, id, limit % 2 === 0 ? 'ascending' : 'descending', limit),
  };
}

async function messageList(
  store: Store,
  key: ProjectKey,
  thread: string,
  order: 'ascending' | 'descending',
  limit: number,
): Promise<unknown> {
  const found: unknown[] = [];
  let after: string | null = null;
  do {
    const request = { order, after, limit, maxBytes: PAGE_BYTES };
    const page: MessagePage | null = await store.messages.list(key, thread, request);
    if (page === null) return null;
    found.push(page.groupId, page.total, ...page.messages.map(withoutPosition));
    after = page.last;
  } while (after !== null);
  return found;
}

/** Two of all filters; others for another limit. */
const threadFilters = (limit: number): ThreadFilter[] => [
  { location: FILTERS[limit % FILTERS.length] ?? null, groupId: null, resolved: null },
  {
    location: FILTERS[(limit + 1) % FILTERS.length] ?? null,
    groupId: GROUPS[limit % GROUPS.length] as string,
    resolved: limit % 2 === 0,
  },
];

/** Whether the list is in order, and its threads: those of the same activity by ID, as drivers may order them as they like. */
async function threadList(
  store: Store,
  key: ProjectKey,
  filter: ThreadFilter,
  limit: number,
): Promise<unknown> {
  const found: ThreadRecord[] = [];
  let after: string | null = null;
  do {
    const request = { filter, after, limit, maxBytes: PAGE_BYTES, viewer: null };
    const page: ThreadPage = await store.threads.list(key, request);
    found.push(...page.threads);
    after = page.last;
  } while (after !== null);
  const activities = found.map(({ lastMessageAt, createdAt }) => lastMessageAt ?? createdAt);
  const isInOrder = activities.every((activity, index) => activity <= (activities[index - 1] ?? activity));
  return {
    isInOrder,
    threads: found.toSorted((a, b) => compareCodePoints(a.id, b.id)).map(comparableThread),
  };
}
