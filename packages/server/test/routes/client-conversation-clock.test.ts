/** Which messages are unread for a client token, by a clock that does not move. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClientThread, Message } from '@rollcall/protocol';
import { clientToken } from '../support/browser.ts';
import { projectWithThread, write } from '../support/conversation.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';

const THREAD = '/v1/client/threads/t';

const clock = new MovedClock();
const server = oneServer({ clock });

/** A project with the thread t of u and v, and v's `unread` and `seen`. */
async function threadSeenByV() {
  const project = await projectWithThread(server);
  const ofV = () => ({
    authorization: `Bearer ${clientToken(project, { user_id: 'v' }, clock.now())}`,
  });
  const unread = async () => expectOk<ClientThread>(await project.get(THREAD, ofV())).unread;
  const see = async (body: object) => expectDone(await project.put(`${THREAD}/seen`, body, ofV()));
  return { project, unread, see };
}

describe('unread messages of the same millisecond', () => {
  test("a message that is created after the viewer's own one is unread", async () => {
    const { project, unread } = await threadSeenByV();
    expectDone(await write(project, 't', 'own', { authorID: 'v' }));
    expectDone(await write(project, 't', 'answer'));
    assert.equal(await unread(), 1);
  });

  test('a message that is created after the thread was seen is unread', async () => {
    const { project, unread, see } = await threadSeenByV();
    expectDone(await write(project, 't', 'a'));
    await see({});
    expectDone(await write(project, 't', 'b'));
    assert.equal(await unread(), 1);
  });

  test('messages after the one up to which the thread was seen are unread, and are listed after it', async () => {
    const { project, unread, see } = await threadSeenByV();
    for (const id of ['c', 'b', 'a']) expectDone(await write(project, 't', id));
    await see({ messageID: 'c' });
    assert.equal(await unread(), 2);
    const { messages } = expectOk<{ messages: Message[] }>(await project.get('/v1/threads/t/messages'));
    assert.deepEqual(
      messages.map(({ id }) => id),
      ['c', 'b', 'a'],
    );
  });
});
