import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { plain } from '../contract/store/conversation.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { BY_TEST } from '../support/origin.ts';
import { type AppCase, withApp } from './app-case.ts';

/** Two of them are more than one part of an answer. */
const LONG = 'x'.repeat(120_000);

const contextOf = ({ clock }: AppCase, revision: string) => ({ ...BY_TEST, now: clock.now(), revision });

/** The group `g` with `u` and a thread of long messages, and the group `h` with `v` alone. */
async function seed({ call }: AppCase): Promise<void> {
  for (const [id, user] of Object.entries({ g: 'u', h: 'v' })) {
    await call('PUT', `/v1/users/${user}`, { payload: {} });
    await call('PUT', `/v1/groups/${id}`, { payload: { name: id, members: [user] } });
  }
  await call('PUT', '/v1/threads/t', { payload: { groupID: 'g', name: 'T' } });
  for (const id of ['m', 'n', 'o', 'p']) {
    const payload = { authorID: 'u', content: [{ text: LONG }] };
    await call('PUT', `/v1/threads/t/messages/${id}`, { payload });
  }
}

/** The thread is deleted, and another one of this ID is made in the group `h`. */
async function moveToOtherGroup(app: AppCase): Promise<void> {
  const { engine, project, clock } = app;
  clock.move(1_000);
  const { threads, messages } = engine.store;
  await threads.delete(project, 't', contextOf(app, 'r1'));
  await threads.put(project, 't', { groupId: 'h', name: 'Secret' }, contextOf(app, 'r2'));
  for (const id of ['m', 'z'])
    await messages.put(project, 't', id, { authorId: 'v', content: plain('secret') }, contextOf(app, id));
}

/** The thread is moved before one call of a read of messages, after so many others. */
function moveBefore(app: AppCase, name: 'list' | 'find', callsBefore: number): void {
  const { messages } = app.engine.store;
  const read = messages[name] as (...parameters: unknown[]) => Promise<unknown>;
  let calls = 0;
  Object.assign(messages, {
    async [name](...parameters: unknown[]) {
      calls += 1;
      if (calls === callsBefore + 1) await moveToOtherGroup(app);
      return read.apply(messages, parameters);
    },
  });
}

function get(app: AppCase, path: string) {
  const claims = { project_id: 'wiki', user_id: 'u', iat: seconds(app.clock.now()) };
  const headers = { authorization: `Bearer ${jwt(claims, 'wiki-secret')}` };
  return app.call('GET', `/v1/client/threads/t/messages${path}`, { headers });
}

describe('a thread that is deleted, and made in a group that is not of the token, while it is read', () => {
  for (const [what, name, path] of [
    ['a list of messages', 'list', ''],
    ['a message', 'find', '/m'],
  ] as const) {
    test(`${what} with a client token is thread_not_found`, () =>
      withApp({}, async (app) => {
        await seed(app);
        moveBefore(app, name, 0);
        const answer = await get(app, path);
        assert.deepEqual([answer.statusCode, answer.json().error], [404, 'thread_not_found']);
      }));
  }

  test('a list of messages that has begun ends, and has no message of the other group', () =>
    withApp({}, async (app) => {
      await seed(app);
      moveBefore(app, 'list', 1);
      const answer = await get(app, '');
      assert.equal(answer.statusCode, 200);
      const shown: { groupID: string }[] = answer.json().messages;
      assert.ok(shown.length > 0);
      assert.ok(shown.every(({ groupID }) => groupID === 'g'));
    }));
});

test('a long list of messages ends where its thread is deleted, and has no message of a new thread of the same ID', () =>
  withApp({}, async (app) => {
    await seed(app);
    moveBefore(app, 'list', 1);
    const answer = await app.call('GET', '/v1/threads/t/messages');
    const { messages, pagination } = answer.json();
    assert.ok(messages.length > 0);
    assert.ok(messages.every(({ groupID }: { groupID: string }) => groupID === 'g'));
    assert.equal(pagination.token, null);
  }));
