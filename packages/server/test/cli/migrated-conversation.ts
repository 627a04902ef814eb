/** Threads and messages of a project that moves to another store, and what hosts and users read of them. */
import assert from 'node:assert/strict';
import { expectDone, expectOk } from '../support/expect.ts';
import { jwt, seconds } from '../support/jwt.ts';
import type { Project } from '../support/project-client.ts';

export const withToken = (token: string) => ({ authorization: `Bearer ${token}` });

/** A thread with messages of every kind, and a resolved one. */
export async function converse(project: Project, group: string, [one = '', two = '']: readonly string[]) {
  const put = async (path: string, body: object) =>
    assert.equal((await project.put(`/v1/threads/${path}`, body)).status, 200, path);
  const markdown = (text: string) => [{ type: 'markdown', children: [{ text }] }];
  await put('t%2F1', { groupID: group, name: 'T', location: { page: '1' }, metadata: { n: 1 } });
  await put('done', { groupID: group, name: 'D', createdTimestamp: '2020-01-01T00:00:00Z', resolved: true });
  const mention = [{ type: 'mention', user: { id: two }, children: [{ text: '@' }] }];
  await put('t%2F1/messages/a', { authorID: one, content: mention, url: 'https://a.example/' });
  await put('t%2F1/messages/md', { authorID: two, content: markdown('so') });
  for (const text of [' it', ' streams \u{1f600}'])
    expectOk(await project.post('/v1/threads/t%2F1/messages/md/append', { text }));
  await put('t%2F1/messages/hidden', { authorID: one, content: markdown('hidden') });
  await put('t%2F1/messages/hidden', { deleted: true });
}

/** What hosts and users read of the threads of {@link converse}. */
export async function readConversation(project: Project, [one = '']: readonly string[]) {
  const client = jwt({ project_id: project.id, user_id: one, iat: seconds(Date.now()) }, project.secret);
  const read = async (path: string, headers?: Record<string, string>) => {
    const { status, text, headers: answered } = await project.get(path, headers);
    return { status, text, etag: answered.etag };
  };
  const threads = ['t%2F1', 'done'];
  return [
    await read('/v1/threads'),
    await read('/v1/threads?location=%7B%22page%22%3A%221%22%7D'),
    ...(await Promise.all(
      threads.flatMap((id) => [
        read(`/v1/threads/${id}`),
        read(`/v1/client/threads/${id}`, withToken(client)),
        ...['ascending', 'descending'].map((order) => read(`/v1/threads/${id}/messages?order=${order}`)),
      ]),
    )),
    ...(await Promise.all(['a', 'md', 'hidden'].map((id) => read(`/v1/threads/t%2F1/messages/${id}`)))),
  ].map(({ text, ...rest }) => ({ ...rest, text: text.replaceAll(/"token":"[^"]*"/g, '"token":"…"') }));
}

/** A message that was deleted comes back whole, and takes another text. */
export async function bringBack(project: Project): Promise<string> {
  const path = '/v1/threads/t%2F1/messages/hidden';
  expectDone(await project.put(path, { deleted: false }), 'hidden');
  expectOk(await project.post(`${path}/append`, { text: ' no more', offset: 6 }));
  return expectOk<{ plaintext: string }>(await project.get(path)).plaintext;
}
