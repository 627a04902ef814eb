/** A filled PostgreSQL database of an earlier version is opened by this one: hosts read the same, and go on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bringBack, converse, readConversation } from '../cli/migrated-conversation.ts';
import { readChanges } from '../support/change-feed.ts';
import { closing } from '../support/closing.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { fillOlderDatabase } from '../support/older-postgres.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';

const USERS = ['ann', 'bob', 'cid'];

const withProject = <Result>(databaseUrl: string, use: (project: Project) => Promise<Result>) =>
  withServer({ settings: { databaseUrl, redisUrl: null } }, async (server) => {
    await using project = closing(Project.of(server));
    return await use(project);
  });

/** Something of everything that an earlier version had. Returns an access token. */
async function fill(project: Project): Promise<string> {
  await project.seed({
    users: USERS.map((id) => ({ id, name: `Name of ${id}` })),
    groups: [{ id: 'g', name: 'G', members: USERS }],
  });
  const channels = { key: 'notification_channels', value: { sendViaEmail: false } };
  expectDone(await project.put('/v1/users/ann/preferences', channels));
  const presence = new Presence(project);
  await presence.set('ann', { page: '1', site: 's' }, { durable: true });
  await presence.set('bob', { page: '2' }, { durable: true });
  await converse(project, 'g', USERS);
  const message = { authorID: 'ann', content: [{ text: 'removed' }] };
  expectDone(await project.put('/v1/threads/t%2F1/messages/gone', message));
  expectDone(await project.delete('/v1/threads/t%2F1/messages/gone'));
  expectDone(await project.put('/v1/users/cid', { status: 'deleted' }));
  const app = jwt({ app_id: project.id, iat: seconds(Date.now()) }, project.secret);
  const authorized = await project.post('/v1/authorize', { signed_app_token: app });
  return expectOk<{ access_token: string }>(authorized).access_token;
}

async function read(project: Project, token: string) {
  const presence = new Presence(project);
  const texts = async (...paths: string[]) =>
    Promise.all(paths.map(async (path) => (await project.get(path)).text));
  const group = await project.get('/v1/groups/g', { authorization: `Bearer ${token}` });
  return {
    group: [group.status, group.text, group.headers.etag],
    lists: await texts('/v1/groups', '/v1/groups/g/members', '/v1/users', '/v1/users/ann/groups'),
    users: await texts(...USERS.flatMap((id) => [`/v1/users/${id}`, `/v1/users/${id}/preferences`])),
    presence: [
      await presence.page(),
      await presence.page({ location: '{"site":"s"}', partial_match: 'true' }),
    ],
    conversation: await readConversation(project, USERS),
  };
}

describe('a database of an earlier version', { skip: skipsPostgres }, () => {
  test('a database at migration 7 is upgraded when a server starts, and every read and change is the same', () =>
    withDatabase((presentUrl) =>
      withDatabase(async (olderUrl) => {
        const before = await withProject(presentUrl, async (project) => {
          const token = await fill(project);
          let changes: readonly { readonly type: string }[] = [];
          // A change can be read a moment after its write was answered.
          await until('the last change', async () => {
            ({ changes } = expectOk<{ changes: typeof changes }>(await project.get('/v1/changes')));
            return changes.at(-1)?.type === 'access_token.issued';
          });
          return { token, changes, read: await read(project, token) };
        });
        await fillOlderDatabase(presentUrl, olderUrl);
        await withProject(olderUrl, async (project) => {
          assert.deepEqual(await readChanges(project, before.changes.length), before.changes);
          assert.deepEqual(await read(project, before.token), before.read);
          // What was there can be changed, and what is new gets numbers of its own.
          assert.equal(await bringBack(project), 'hidden no more');
          const thread = { groupID: 'g', name: 'New' };
          expectDone(await project.put('/v1/threads/new', thread), 'new');
          const message = { authorID: 'bob', content: [{ text: 'new' }] };
          expectDone(await project.put('/v1/threads/new/messages/m', message), 'm');
          expectDone(await project.put('/v1/groups/g', { members: ['bob'] }));
          assert.deepEqual(
            (await new Presence(project).everyone()).map(({ id }) => id),
            ['bob'],
          );
          const hook = { url: 'https://receiver.invalid/', status: 'paused' };
          assert.equal((await project.put('/v1/webhooks/w', hook)).status, 201);
          const types = (await readChanges(project, before.changes.length + 6)).map(({ type }) => type);
          assert.deepEqual(types.slice(-6).toSorted(), [
            'member.removed',
            ...['message.appended', 'message.created', 'message.updated'],
            ...['thread.created', 'webhook.created'],
          ]);
        });
      }),
    ));
});
