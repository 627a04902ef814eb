/** Times of threads and messages that are ahead of the clock of the process. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  messageOf,
  messagePath,
  projectWithThread,
  textContent,
  threadOf,
  threadPath,
  write,
} from '../support/conversation.ts';
import { expectDone, expectError } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';

const HOUR = 3_600_000;

const clock = new MovedClock();
const server = oneServer({ clock });

describe('a PUT with the stored times is repeated', () => {
  test('after the clock was set back, and updates the thread and the message', async () => {
    const project = await projectWithThread(server);
    expectDone(await project.put(threadPath('t'), { resolved: true }));
    expectDone(await write(project, 't', 'm'));
    expectDone(await write(project, 't', 'm', { url: 'https://example.org', deleted: true }));
    clock.jump(-10_000);
    const { name, createdTimestamp, resolvedTimestamp } = await threadOf(project, 't');
    const thread = { name, createdTimestamp, resolvedTimestamp };
    expectDone(await project.put(threadPath('t'), thread), 'updated thread t');
    const message = await messageOf(project, 't', 'm');
    const { updatedTimestamp, deletedTimestamp } = message;
    const times = { createdTimestamp: message.createdTimestamp, updatedTimestamp, deletedTimestamp };
    expectDone(await project.put(messagePath('t', 'm'), times), 'updated message m');
    clock.jump(10_000);
  });

  test('where messages are faster than the clock', async () => {
    const project = await projectWithThread(server);
    for (const id of ['a', 'b', 'c']) expectDone(await write(project, 't', id));
    const { authorID, createdTimestamp } = await messageOf(project, 't', 'c');
    assert.ok(Date.parse(createdTimestamp) > clock.now());
    const body = { authorID, content: textContent('c'), createdTimestamp };
    expectDone(await project.put(messagePath('t', 'c'), body), 'updated message c');
  });
});

test('a time in the future that is not the stored one is invalid_field in every PUT', async () => {
  const project = await projectWithThread(server);
  expectDone(await write(project, 't', 'm'));
  const createdTimestamp = new Date(clock.now() + HOUR).toISOString();
  for (const id of ['t', 'new'])
    for (const headers of [{}, { 'if-none-match': '*' }]) {
      const body = { groupID: 'g', name: 'N', createdTimestamp };
      expectError(await project.put(threadPath(id), body, headers), 400, 'invalid_field', 'createdTimestamp');
    }
  for (const id of ['m', 'new'])
    expectError(
      await write(project, 't', id, { createdTimestamp }),
      400,
      'invalid_field',
      'createdTimestamp',
    );
});
