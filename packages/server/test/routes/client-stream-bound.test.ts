/** How many streams the client tokens of one user have open. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { expectNotFound, expectOk, expectRefused } from '../support/expect.ts';
import { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import { until } from '../support/own-redis.ts';
import { Presence } from '../support/presence-client.ts';

const server = oneServer();
const EVENT_STREAM = { accept: 'text/event-stream' };

/** Opens a stream of the group `g`, to be destroyed by the caller, and reads its status. */
async function open({ project, token }: Browser, path = '/v1/client/presence?groupID=g') {
  const headers = { authorization: `Bearer ${token}`, ...EVENT_STREAM };
  const stream = request(`${project.url}${path}`, { headers, agent: false }).end();
  const [answer] = (await once(stream, 'response')) as [IncomingMessage];
  const status = answer.statusCode ?? 0;
  if (status === 200) answer.on('error', () => {}).resume();
  return { stream, answer, status };
}

/** The answer to a request for a stream; a stream that opens is closed again. */
async function ask(browser: Browser, groupId: string): Promise<Answer> {
  const { stream, answer, status } = await open(browser, `/v1/client/presence?groupID=${groupId}`);
  if (status === 200) stream.destroy();
  return new Answer(status, answer.headers, status === 200 ? 'a stream' : await text(answer));
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
  test('are at most 100 with client tokens, of all groups and tokens; the next is 429 with Retry-After', async () => {
    const { project } = await presence();
    const browsers = [Browser.of(project, 'a'), Browser.of(project, 'a', 'g')];
    const streams: ClientRequest[] = [];
    try {
      for (let count = 0; count < limits.USER_STREAMS_MAX; count += 1) {
        const browser = browsers[count % 2] as Browser;
        const groupId = count % 4 === 0 ? 'h' : 'g';
        const { stream, status } = await open(browser, `/v1/client/presence?groupID=${groupId}`);
        streams.push(stream);
        assert.equal(status, 200);
      }
      for (const browser of browsers) {
        const refused = await ask(browser, 'g');
        expectRefused(refused, 429, 'invalid_request', 'user a', '100');
        assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
      }
      // Nothing was read for it: not even whether the group is the user's.
      expectRefused(await ask(browsers[0] as Browser, 'nowhere'), 429, 'invalid_request');
      expectOk(await (browsers[0] as Browser).get('/v1/client/presence?groupID=g'));

      const other = await open(Browser.of(project, 'b', 'g'));
      const host = await open(new Browser(project, project.token), '/v1/groups/g/presence');
      streams.push(other.stream, host.stream);
      assert.deepEqual(
        [other.status, host.status],
        [200, 200],
        'of others and of hosts there is no such bound',
      );

      streams.shift()?.destroy();
      await until('a stream that is closed makes room for one', async () => {
        const { stream, status } = await open(browsers[0] as Browser);
        streams.push(stream);
        return status === 200;
      });
      expectRefused(await ask(browsers[0] as Browser, 'g'), 429, 'invalid_request');
    } finally {
      for (const stream of streams) stream.destroy();
    }
  });

  test('do not count what was refused', async () => {
    const { project } = await presence();
    const browser = Browser.of(project, 'a');
    for (let count = 0; count < limits.USER_STREAMS_MAX + 5; count += 1) {
      expectNotFound(await ask(browser, 'nowhere'), 'group_not_found');
    }
    const { stream, status } = await open(browser);
    stream.destroy();
    assert.equal(status, 200);
  });

  test('end with the user, and make room', async () => {
    const { project } = await presence();
    const browser = Browser.of(project, 'a');
    const opened = await Promise.all(Array.from({ length: limits.USER_STREAMS_MAX }, () => open(browser)));
    try {
      assert.ok(opened.every(({ status }) => status === 200));
      expectRefused(await ask(browser, 'g'), 429, 'invalid_request');
      expectOk(await project.put('/v1/users/a', { status: 'deleted' }));
      await until('the streams have ended', async () => (await ask(browser, 'g')).status === 401);
      expectOk(await project.put('/v1/users/a', { status: 'active' }));
      const again = await open(browser);
      again.stream.destroy();
      assert.equal(again.status, 200);
    } finally {
      for (const { stream } of opened) stream.destroy();
    }
  });
});
