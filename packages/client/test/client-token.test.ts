/** Tokens of the client that a function makes, and those that the server rejects. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failure, isOf } from './support/failure.ts';
import {
  DONE,
  errorBody,
  respond,
  type Script,
  withScriptedClient as withClient,
} from './support/scripted-server.ts';

describe('the token of a client', () => {
  const CHALLENGE = { 'www-authenticate': 'Bearer' };
  /** Accepts one token only. */
  const accepts =
    (good: string): Script =>
    (request) =>
      request.headers.authorization === `Bearer ${good}`
        ? respond(request, 200, DONE)
        : respond(request, 401, errorBody('invalid_project_token'), CHALLENGE);

  /** Returns `a.token.1`, `a.token.2`, … */
  const counter = () => {
    let count = 0;
    return Object.assign(async () => `a.token.${++count}`, { calls: () => count });
  };

  test('a token function is called once for many requests', async () => {
    const token = counter();
    await withClient(
      accepts('a.token.1'),
      async (rollcall) => {
        await Promise.all([rollcall.users.get('a'), rollcall.users.get('b')]);
        await rollcall.users.get('c');
        assert.equal(token.calls(), 1);
      },
      { token },
    );
  });

  test('a token function is called once more when the server rejects the token, for all concurrent requests', async () => {
    const token = counter();
    await withClient(
      accepts('a.token.2'),
      async (rollcall) => {
        await Promise.all(['a', 'b', 'c'].map((id) => rollcall.users.create({ id })));
        assert.equal(token.calls(), 2);
      },
      { token },
    );
  });

  test('a second rejected token rejects the request with invalid_project_token', async () => {
    const token = counter();
    await withClient(
      accepts('another'),
      async (rollcall, { received }) => {
        isOf(await failure(rollcall.users.get('ada')), { code: 'invalid_project_token', status: 401 });
        assert.equal(token.calls(), 2);
        assert.equal(received.length, 2);
      },
      { token },
    );
  });

  test('a 401 without WWW-Authenticate does not request another token', async () => {
    const token = counter();
    const script: Script = (request) => respond(request, 401, errorBody('project_not_found'));
    await withClient(script, async (rollcall) => void (await failure(rollcall.users.get('ada'))), { token });
    assert.equal(token.calls(), 1);
  });

  test('project_not_found with WWW-Authenticate requests another token', async () => {
    const token = counter();
    const script: Script = (request) => respond(request, 401, errorBody('project_not_found'), CHALLENGE);
    await withClient(script, async (rollcall) => void (await failure(rollcall.users.get('ada'))), { token });
    assert.equal(token.calls(), 2);
  });

  const gateway =
    (challenge: string): Script =>
    ({ response }) =>
      response.writeHead(401, { 'www-authenticate': challenge }).end('<h1>Unauthorized</h1>');

  test('a 401 of a gateway whose challenge is of another kind does not request another token', async () => {
    const token = counter();
    await withClient(
      gateway('Basic realm="staging"'),
      async (rollcall) => {
        isOf(await failure(rollcall.users.get('ada', { retries: 0 })), { status: 401, aboutToken: false });
        assert.equal(token.calls(), 1);
      },
      { token },
    );
  });

  test('a gateway that rejects every token gets two of them for a call', async () => {
    const token = counter();
    await withClient(
      gateway('Bearer'),
      async (rollcall, { received }) => {
        isOf(await failure(rollcall.users.get('ada')), { status: 401, retryable: true, aboutToken: true });
        assert.deepEqual([token.calls(), received.length], [2, 2]);
      },
      { token },
    );
  });

  test('a rejected token that is a string rejects the request at once', async () => {
    await withClient(accepts('another'), async (rollcall, { received }) => {
      isOf(await failure(rollcall.users.get('ada')), { code: 'invalid_project_token' });
      assert.equal(received.length, 1);
    });
  });

  test('a token function that throws or never resolves fails the request, and the next request calls it again', async () => {
    let times = 0;
    const token = () => {
      times += 1;
      if (times === 1) throw new Error('not logged in');
      return times === 2 ? new Promise<string>(() => {}) : 'a.token.3';
    };
    await withClient(
      accepts('a.token.3'),
      async (rollcall) => {
        const error = await failure(rollcall.users.get('ada', { retries: 0 }));
        isOf(error, { code: 'network', retryable: true });
        assert.match(error.message, /not logged in/);
        isOf(await failure(rollcall.users.get('ada', { timeoutMs: 50, retries: 0 })), { code: 'timeout' });
        await rollcall.users.get('ada');
      },
      { token },
    );
  });
});
