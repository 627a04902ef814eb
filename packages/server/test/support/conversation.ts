/** What tests of threads and messages start from and read. */
import type { ContentNode, Message, Thread } from '@rollcall/protocol';
import { expectOk } from './expect.ts';
import type { Answer } from './http-client.ts';
import type { OneServer } from './one-server.ts';
import { type Project, segment } from './project-client.ts';

/** The content of a message that says a text. */
export const textContent = (text: string): ContentNode[] => [{ type: 'p', children: [{ text }] }];

/** Content to which texts can be appended. */
export const markdown = (text: string): ContentNode[] => [{ type: 'markdown', children: [{ text }] }];

export const threadPath = (thread: string) => `/v1/threads/${segment(thread)}`;
export const messagePath = (thread: string, message: string) =>
  `${threadPath(thread)}/messages/${segment(message)}`;

/** A project with the users u, v and w, the groups g (u and v) and h (u), and the thread t of g. */
export async function projectWithThread(server: OneServer): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: [{ id: 'u' }, { id: 'v' }, { id: 'w' }],
    groups: [
      { id: 'g', name: 'G', members: ['u', 'v'] },
      { id: 'h', name: 'H', members: ['u'] },
    ],
  });
  expectOk(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
  return project;
}

/** Writes a message of u. */
export const write = (
  project: Project,
  thread: string,
  message: string,
  fields: object = {},
): Promise<Answer> =>
  project.put(messagePath(thread, message), { authorID: 'u', content: textContent(message), ...fields });

export const threadOf = async (project: Project, thread: string): Promise<Thread> =>
  expectOk(await project.get(threadPath(thread)));

export const messageOf = async (project: Project, thread: string, message: string): Promise<Message> =>
  expectOk(await project.get(messagePath(thread, message)));

/** The IDs of a list, over all of its pages. */
export async function walk(
  read: (query: string) => Promise<Answer>,
  name: 'threads' | 'messages',
  limit: number,
): Promise<string[]> {
  const ids: string[] = [];
  let token: string | null = null;
  do {
    const page: Record<string, { id: string }[]> & { pagination: { token: string | null } } = expectOk(
      await read(`limit=${limit}${token === null ? '' : `&token=${token}`}`),
    );
    ids.push(...(page[name] as { id: string }[]).map(({ id }) => id));
    token = page.pagination.token;
  } while (token !== null);
  return ids;
}
