/** The bound on the open streams of one user with client tokens. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { projectWithThread } from '../support/conversation.ts';
import { expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import { Presence } from '../support/presence-client.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const server = oneServer();

const openAt = ({ project: { url }, token }: Browser, path: string) =>
  StreamReader.open({ url, token }, path);

/** As many streams as a user may have open. */
async function most(openOne: (index: number) => Promise<StreamReader>) {
  const streams = await together(
    Array.from({ length: limits.USER_STREAMS_MAX }, (_, index) => openOne(index)),
  );
  assert.ok(streams.every(({ status }) => status === 200));
  return streams;
}

/** Opens a stream of the group, to be closed by the caller. */
const open = (browser: Browser, groupId = 'g') => openAt(browser, `/v1/client/presence?groupID=${groupId}`);

const answerOf = (browser: Browser, groupId: string) =>
  answerAt(browser, `/v1/client/presence?groupID=${groupId}`);

/** The answer to a request for a stream; a stream that opens is closed again. */
async function answerAt(browser: Browser, path: string): Promise<Answer> {
  const stream = await openAt(browser, path);
  if (stream.status === 200) stream.close();
  await stream.ended();
  return new Answer(stream.status, stream.headers, stream.text);
}

async function presence(): Promise<Presence> {
  const project = await server.project();
  await project.seed({
    users: ['a', 'b'].map((id) => ({ id })),
    groups: ['g', 'h'].map((id) => ({ id, name: id, members: ['a', 'b'] })),
  });
  return new Presence(project);
}

describe('the streams of a user', () => {
  test('the streams of a user are at most 100 with client tokens, of all groups and tokens; the next is 429 with Retry-After', async () => {
    const { project } = await presence();
    const browsers = [Browser.of(project, 'a'), Browser.of(project, 'a', 'g')];
    using streams = await most((index) => open(browsers[index % 2] as Browser, index % 4 === 0 ? 'h' : 'g'));
    for (const browser of browsers) {
      const rejected = await answerOf(browser, 'g');
      expectError(rejected, 429, 'invalid_request', 'user a', '100');
      assert.match(String(rejected.headers['retry-after']), /^[1-9]\d*$/);
    }
    // Nothing was read for it: not even whether the group is the user's.
    expectError(await answerOf(browsers[0] as Browser, 'nowhere'), 429, 'invalid_request');
    expectOk(await (browsers[0] as Browser).get('/v1/client/presence?groupID=g'));

    using other = await open(Browser.of(project, 'b', 'g'));
    using host = await StreamReader.open(project, '/v1/groups/g/presence');
    assert.deepEqual(
      [other.status, host.status],
      [200, 200],
      'of others and of hosts there is no such bound',
    );

    streams[0]?.close();
    using next = new DisposableStack();
    await until('a stream that is closed makes room for one', async () => {
      return next.use(await open(browsers[0] as Browser)).status === 200;
    });
    expectError(await answerOf(browsers[0] as Browser, 'g'), 429, 'invalid_request');
  });

  test('streams of threads and of messages count among the 100 of a user, beside those of presence', async () => {
    const project = await projectWithThread(server);
    const browser = Browser.of(project, 'u');
    const paths = [
      '/v1/client/presence?groupID=g',
      '/v1/client/threads?groupID=g',
      '/v1/client/threads/t/messages',
    ];
    using streams = await most((index) => openAt(browser, String(paths[index % paths.length])));
    for (const path of paths) {
      const rejected = await answerAt(browser, path);
      expectError(rejected, 429, 'invalid_request', 'user u', '100');
      assert.match(String(rejected.headers['retry-after']), /^[1-9]\d*$/);
    }
    expectOk(await browser.get('/v1/client/threads?groupID=g'));
    expectOk(await browser.get('/v1/client/threads/t/messages'));
    for (const path of ['/v1/threads?groupID=g', '/v1/threads/t/messages']) {
      using host = await StreamReader.open(project, path);
      assert.equal(host.status, 200, 'of hosts there is no such bound');
    }
    // The second stream is one of threads.
    streams[1]?.close();
    using next = new DisposableStack();
    await until('a stream of threads that is closed makes room for one of messages', async () => {
      return next.use(await openAt(browser, '/v1/client/threads/t/messages')).status === 200;
    });
    expectError(await answerAt(browser, '/v1/client/presence?groupID=g'), 429, 'invalid_request');
  });

  test('a stream of threads or messages that is rejected does not count', async () => {
    const project = await projectWithThread(server);
    const browser = Browser.of(project, 'v');
    for (let count = 0; count < limits.USER_STREAMS_MAX / 2 + 5; count += 1) {
      expectError(await answerAt(browser, '/v1/client/threads?groupID=h'), 404, 'thread_not_found');
      expectError(await answerAt(browser, '/v1/client/threads/none/messages'), 404, 'thread_not_found');
    }
    using stream = await openAt(browser, '/v1/client/threads/t/messages');
    assert.equal(stream.status, 200);
  });

  test('the streams of a user do not count rejected requests', async () => {
    const { project } = await presence();
    const browser = Browser.of(project, 'a');
    for (let count = 0; count < limits.USER_STREAMS_MAX + 5; count += 1) {
      expectNotFound(await answerOf(browser, 'nowhere'), 'group_not_found');
    }
    using stream = await open(browser);
    assert.equal(stream.status, 200);
  });

  test('the streams of a user end with the user, and make room', async () => {
    const { project } = await presence();
    const browser = Browser.of(project, 'a');
    using _streams = await most(() => open(browser));
    expectError(await answerOf(browser, 'g'), 429, 'invalid_request');
    expectOk(await project.put('/v1/users/a', { status: 'deleted' }));
    await until('the streams have ended', async () => (await answerOf(browser, 'g')).status === 401);
    expectOk(await project.put('/v1/users/a', { status: 'active' }));
    using again = await open(browser);
    assert.equal(again.status, 200);
  });
});
