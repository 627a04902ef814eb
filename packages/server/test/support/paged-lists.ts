/** The paged lists of the API behind one interface, so that each list is tested for the contract's rules of pages. */
import assert from 'node:assert/strict';
import { Browser } from './browser.ts';
import { textContent } from './conversation.ts';
import { expectDone, expectOk } from './expect.ts';
import type { Answer } from './http-client.ts';
import { type PageInfo, type Project, segment } from './project-client.ts';

export interface ReadPage {
  readonly ids: string[];
  /** The path of the next page, or null when nothing follows. */
  readonly next: string | null;
  /** Absent where the list has none. */
  readonly total?: number;
}

/** A paged list of the API, and how entries are added and removed. */
export interface PagedList {
  readonly name: string;
  readonly path: string;
  /** The most entries that a page can have. */
  readonly maxLimit: number;
  /** Sends a request for a page, with the token that the list is for. */
  get(project: Project, path: string): Promise<Answer>;
  read(answer: Answer, path: string): ReadPage;
  add(project: Project, ids: readonly string[]): Promise<void>;
  remove(project: Project, id: string): Promise<Answer>;
}

type EntriesKey = 'users' | 'groups' | 'threads' | 'messages';

/** Reads a page with a token in `pagination`. */
export const readEnvelope =
  (key: EntriesKey, pageInfo: readonly string[] = ['token', 'total']) =>
  (answer: Answer, path: string): ReadPage => {
    const body = expectOk<Record<EntriesKey, { id: string }[]> & { pagination: PageInfo }>(answer);
    assert.deepEqual(Object.keys(body).sort(), ['pagination', key].sort());
    assert.deepEqual(Object.keys(body.pagination).sort(), pageInfo);
    const { token, total } = body.pagination;
    const limit = new URL(path, 'http://host').searchParams.get('limit');
    const next =
      token === null
        ? null
        : `${path.split('?')[0]}?${new URLSearchParams({ limit: limit ?? '1000', token })}`;
    return { ids: body[key].map(({ id }) => id), next, total };
  };

/** Reads a page with a `Link` header. */
export function readLinked(answer: Answer, path: string): ReadPage {
  const ids = expectOk<{ id: string }[]>(answer).map(({ id }) => id);
  const { link } = answer.headers;
  if (link === undefined) return { ids, next: null };
  const target = /^<([^>]+)>\s*;\s*rel="?next"?$/.exec(String(link))?.[1];
  assert.ok(target !== undefined, `unreadable Link header ${link}`);
  const { pathname, search } = new URL(target, `http://host${path}`);
  return { ids, next: pathname + search };
}

const ofHosts = {
  maxLimit: 10_000,
  get: (project: Project, path: string) => project.get(path),
};

const ROSTER_LISTS: readonly PagedList[] = [
  {
    name: 'groups',
    path: '/v1/groups',
    ...ofHosts,
    read: readLinked,
    add: (project, ids) => project.seed({ groups: ids.map((id) => ({ id, name: 'G' })) }),
    remove: (project, id) => project.delete(`/v1/groups/${segment(id)}`),
  },
  {
    name: 'users',
    path: '/v1/users',
    ...ofHosts,
    read: readEnvelope('users'),
    add: (project, ids) => project.seedUsers(...ids),
    remove: (project, id) => project.delete(`/v1/users/${segment(id)}`),
  },
  {
    name: 'members of a group',
    path: '/v1/groups/the%20group/members',
    ...ofHosts,
    read: readEnvelope('users'),
    async add(project, ids) {
      await project.seedUsers(...ids);
      await project.put('/v1/groups/the%20group', { name: 'G' });
      expectDone(await project.post('/v1/groups/the%20group/members', { add: ids }));
    },
    remove: (project, id) => project.post('/v1/groups/the%20group/members', { remove: [id] }),
  },
  {
    name: 'groups of a user',
    path: '/v1/users/the%20user/groups',
    ...ofHosts,
    read: readEnvelope('groups'),
    async add(project, ids) {
      const groups = ids.map((id) => ({ id, name: 'G', members: ['the user'] }));
      await project.seed({ users: [{ id: 'the user' }], groups });
    },
    remove: (project, id) => project.put(`/v1/groups/${segment(id)}`, { members: [] }),
  },
  {
    name: 'users present in a group',
    path: '/v1/groups/the%20present/presence',
    ...ofHosts,
    read: readEnvelope('users', ['token']),
    async add(project, ids) {
      await project.seedUsers(...ids);
      await project.put('/v1/groups/the%20present', { name: 'G' });
      expectDone(await project.post('/v1/groups/the%20present/members', { add: ids }));
      for (const id of ids) expectDone(await setPresent(project, id, { absent: false }));
    },
    remove: (project, id) => setPresent(project, id, { absent: true }),
  },
];

const setPresent = (project: Project, id: string, flags: { absent: boolean }) =>
  project.put(`/v1/users/${segment(id)}/presence`, {
    groupID: 'the present',
    location: { page: '1' },
    ...flags,
  });

/** Creates the group `the talk` and its one member, who reads and writes. */
const seedTalk = (project: Project) =>
  project.seed({
    users: [{ id: 'the reader' }],
    groups: [{ id: 'the talk', name: 'G', members: ['the reader'] }],
  });

const ofReaders = {
  maxLimit: 1_000,
  get: (project: Project, path: string) => Browser.of(project, 'the reader', 'the talk').get(path),
};

/** Threads, which are listed by their creation: the list begins with the last one that is created. */
const THREADS = {
  read: readEnvelope('threads', ['token']),
  async add(project: Project, ids: readonly string[]) {
    await seedTalk(project);
    for (const id of ids.toReversed())
      expectDone(await project.put(`/v1/threads/${segment(id)}`, { groupID: 'the talk', name: 'T' }));
  },
  remove: (project: Project, id: string) => project.delete(`/v1/threads/${segment(id)}`),
};

/** The messages of a thread, which are listed in the order of their creation. */
const messagesOf = (thread: string) => ({
  read: readEnvelope('messages'),
  async add(project: Project, ids: readonly string[]) {
    await seedTalk(project);
    const createThread = { groupID: 'the talk', name: 'T' };
    for (const id of ids) {
      const message = { id, authorID: 'the reader', content: textContent(id), createThread };
      const answer = await project.post(`/v1/threads/${segment(thread)}/messages`, message);
      assert.equal(answer.status, 201, answer.text);
    }
  },
  remove: (project: Project, id: string) =>
    project.delete(`/v1/threads/${segment(thread)}/messages/${segment(id)}`),
});

/** Their pages have 50 entries unless the request textContent how many. */
export const CONVERSATION_LISTS: readonly PagedList[] = [
  { name: 'threads', path: '/v1/threads', ...ofHosts, maxLimit: 1_000, ...THREADS },
  { name: 'threads of a client token', path: '/v1/client/threads', ...ofReaders, ...THREADS },
  {
    name: 'messages of a thread',
    path: '/v1/threads/the%20thread/messages',
    ...ofHosts,
    maxLimit: 1_000,
    ...messagesOf('the thread'),
  },
  {
    name: 'messages of a client token',
    path: '/v1/client/threads/the%20read%20thread/messages',
    ...ofReaders,
    ...messagesOf('the read thread'),
  },
];

export const LISTS: readonly PagedList[] = [...ROSTER_LISTS, ...CONVERSATION_LISTS];

/** Reads a whole list page by page; `between` runs after each page but the last. */
export async function readThrough(
  project: Project,
  list: PagedList,
  limit: number,
  between: (page: ReadPage, number: number) => Promise<void> = async () => {},
): Promise<string[][]> {
  const pages: string[][] = [];
  let path: string | null = `${list.path}?limit=${limit}`;
  while (path !== null) {
    const page: ReadPage = list.read(await list.get(project, path), path);
    assert.ok(page.ids.length <= limit, `a page of ${page.ids.length} with limit ${limit}`);
    pages.push(page.ids);
    assert.ok(pages.length < 100, 'the pages do not end');
    if (page.next !== null) await between(page, pages.length);
    path = page.next;
  }
  return pages;
}

/** The token of the second page, with one entry per page. */
export async function tokenOf(project: Project, list: PagedList): Promise<string> {
  const path = `${list.path}?limit=1`;
  const { next } = list.read(await list.get(project, path), path);
  const token = new URL(String(next), 'http://host').searchParams.get('token');
  assert.ok(token !== null, `no token for ${list.name}`);
  return token;
}

/** The page of one entry at the token. */
export const withToken = (project: Project, list: PagedList, token: string) =>
  list.get(project, `${list.path}?limit=1&token=${encodeURIComponent(token)}`);
