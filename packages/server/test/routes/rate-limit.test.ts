import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser } from '../support/browser.ts';
import { clockedServer } from '../support/clocked-server.ts';
import { expectError } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { jwt } from '../support/jwt.ts';
import { SocketClient } from '../support/socket-client.ts';

const PER_SECOND = 5;
const limited = clockedServer({ settings: { rateLimitPerSecond: PER_SECOND } });
const unlimited = clockedServer();

const rateLimitHeaders = (answer: Answer) =>
  Object.keys(answer.headers).filter((name) => /^(x-)?ratelimit/.test(name));
const times = <Value>(count: number, make: () => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, make));
const allowed = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 200);
const rejected = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 429);

/** Sends the requests of one caller, and asserts that no more pass than in the windows of the time that they took. */
async function withinLimit(sendAll: () => Promise<Answer[]>): Promise<Answer[]> {
  const begun = performance.now();
  const answers = await sendAll();
  const windows = Math.ceil((performance.now() - begun) / 1_000) + 1;
  const passed = allowed(answers).length;
  assert.ok(passed >= PER_SECOND && passed <= PER_SECOND * windows, `${passed} passed`);
  return answers;
}

describe('the rate limit', () => {
  test('the rate limit is off by default: no request is rejected, and answers have no RateLimit headers', async () => {
    const project = await unlimited.project();
    const answers = await times(200, () => project.get('/v1/groups'));
    assert.equal(allowed(answers).length, 200);
    assert.deepEqual(answers.flatMap(rateLimitHeaders), []);
  });

  test('the rate limit, when set, answers 429 invalid_request with Retry-After to requests above it', async () => {
    const project = await limited.project();
    const answers = await withinLimit(() => times(60, () => project.get('/v1/groups')));
    assert.equal(allowed(answers).length + rejected(answers).length, 60);
    for (const answer of rejected(answers)) {
      expectError(answer, 429, 'invalid_request');
      assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
      assert.equal(answer.headers['www-authenticate'], undefined);
    }
  });

  test('the rate limit has RateLimit headers on accepted and on rejected requests', async () => {
    const project = await limited.project();
    const answers = await times(20, () => project.get('/v1/groups'));
    assert.ok(rejected(answers).length > 0);
    for (const { status, headers } of answers) {
      assert.equal(headers['ratelimit-limit'], `${PER_SECOND}`);
      assert.match(String(headers['ratelimit-remaining']), status === 200 ? /^[0-4]$/ : /^0$/);
      assert.equal(headers['ratelimit-reset'], '1');
    }
  });

  test('the rate limit counts each project by itself: one project does not use up that of another', async () => {
    const [greedy, modest] = [await limited.project(), await limited.project()];
    const first = await times(40, () => greedy.get('/v1/groups'));
    assert.ok(rejected(first).length > 0);
    assert.equal((await modest.get('/v1/groups')).status, 200);
  });

  test('the rate limit counts a project’s requests together, whichever token, method and path they have', async () => {
    const project = await limited.project();
    const appToken = jwt({ app_id: project.id, iat: limited.now() }, project.secret);
    await withinLimit(async () => {
      const answers = times(20, async () => [
        await project.get('/v1/users'),
        await limited.call(appToken, 'GET', '/v1/groups'),
        await project.put('/v1/groups/g', { name: 'G' }),
      ]);
      return (await answers).flat();
    });
  });

  test('the rate limit counts requests whose path has escapes that do not decode', async () => {
    const project = await limited.project();
    const answers = await times(40, () => project.get('/v1/groups/%FF'));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([400, 429]));
  });

  test('the rate limit applies to client tokens too, which are counted apart from the host’s requests', async () => {
    const project = await limited.project();
    await project.seed({ users: [{ id: 'u' }] });
    const browser = Browser.of(project, 'u');
    const answers = await withinLimit(() => times(40, () => browser.viewer()));
    for (const answer of rejected(answers)) expectError(answer, 429, 'invalid_request');
    assert.equal((await project.get('/v1/groups')).status, 200);
  });

  test('the rate limit counts frames of sockets with the requests of client tokens, and closes no socket', async () => {
    const project = await limited.projectWithGroup('g', 'u');
    const begun = performance.now();
    using socket = await SocketClient.of(project, 'u', 'g');
    const refs = Array.from({ length: 40 }, (_, index) => 100 + index);
    for (const ref of refs) socket.send({ op: 'absent', ref, location: { page: 'p' } });
    for (const ref of refs) await socket.answer(ref);
    const answers = await times(40, () => Browser.of(project, 'u').viewer());
    const windows = Math.ceil((performance.now() - begun) / 1_000) + 1;
    const frames = socket.frames.filter(({ ref }) => ref >= 100);
    const rejectedFrames = frames.filter(({ ok }) => ok === undefined);
    const passed = frames.length - rejectedFrames.length + allowed(answers).length;
    assert.ok(rejectedFrames.length > 0 && passed <= PER_SECOND * windows, `${passed} passed`);
    for (const { error, message } of rejectedFrames)
      assert.deepEqual([error, /more than 5 requests in a second/.test(message)], ['invalid_request', true]);
    assert.equal(socket.close, null);
    assert.equal((await project.get('/v1/groups')).status, 200);
  });

  test('the rate limit rejects a login of a socket above it, which may be repeated', async () => {
    const project = await limited.project();
    await project.seed({ users: [{ id: 'u' }] });
    const browser = Browser.of(project, 'u');
    using sockets = new DisposableStack();
    const open = async () => sockets.use(await SocketClient.open(project.url));
    let socket = await open();
    const auth = () => socket.request('auth', { token: browser.token });
    await times(40, () => browser.viewer());
    let answer = await auth();
    // The window has ended before the login.
    while (answer.ok === true) {
      socket = await open();
      await times(40, () => browser.viewer());
      answer = await auth();
    }
    assert.equal(answer?.error, 'invalid_request', JSON.stringify([answer, socket.close]));
    // Once a request passes again, a window has begun that takes four more.
    for (let { status } = await browser.viewer(); status === 429; ) ({ status } = await browser.viewer());
    assert.equal((await auth())?.ok, true);
  });

  test('the rate limit is not used up by forged tokens that name the project', async () => {
    const project = await limited.project();
    const forged = jwt({ project_id: project.id, iat: limited.now() }, 'wrong');
    for (const answer of await times(40, () => limited.call(forged, 'GET', '/v1/groups')))
      assert.notEqual(answer.status, 200);
    assert.equal((await project.get('/v1/groups')).status, 200);
  });

  test('the rate limit does not touch health and metrics', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      for (const answer of await times(20, () => limited.bare('GET', path))) assert.equal(answer.status, 200);
    }
  });
});
