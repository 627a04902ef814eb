import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { ApiConnection, ApiError } from '../../src/cli/roster/api-connection.ts';
import { batchLimits } from '../../src/cli/roster/batch-planner.ts';
import { applyLines } from '../../src/cli/roster/batch-request.ts';
import { entryOf } from '../../src/cli/roster/roster-entry.ts';
import { fixedToken, mintedTokens, type TokenSource } from '../../src/cli/roster/token-source.ts';
import { MovedClock } from '../support/moved-clock.ts';

/** What stands before a server answers first, and the server after that. */
type Script = readonly ((request: IncomingMessage, response: ServerResponse) => void)[];

const answer = (status: number, body: string, headers: Record<string, string> = {}) => {
  return (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);
};
const done = answer(200, '{"done":true}');
const failed = (status: number, headers?: Record<string, string>) =>
  answer(status, '{"error":"error","message":"not now"}', headers);
const challenge = answer(401, '{"error":"invalid_project_token","message":"too old"}', {
  'www-authenticate': 'Bearer',
});
const brokenOff = (request: IncomingMessage) => void request.socket.destroy();

interface Observed {
  readonly connection: ApiConnection;
  readonly pauses: number[];
  readonly notes: string[];
  readonly tokens: string[];
  readonly paths: string[];
}

/** A connection to something that answers one request after the other as the script says. */
async function withScript<Result>(
  script: Script,
  use: (observed: Observed) => Promise<Result>,
  tokens: TokenSource = fixedToken('t'),
): Promise<Result> {
  const steps = [...script];
  const seen = {
    pauses: [] as number[],
    notes: [] as string[],
    tokens: [] as string[],
    paths: [] as string[],
  };
  const server = createServer((request, response) => {
    seen.tokens.push(request.headers.authorization ?? '');
    seen.paths.push(request.url ?? '');
    const step = steps.shift() ?? assert.fail('one request more than expected');
    request.on('end', () => step(request, response)).resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`);
  const wait = async (ms: number) => void seen.pauses.push(ms);
  const connection = new ApiConnection({ url, tokens, onRetry: (note) => seen.notes.push(note), wait });
  try {
    const result = await use({ connection, ...seen });
    assert.equal(steps.length, 0, 'fewer requests than expected');
    return result;
  } finally {
    connection.close();
    server.close();
    await once(server, 'close');
  }
}

const post = ({ connection }: Observed) => connection.request('POST', '/v1/batch', '{}');

test('the path of a request is sent exactly as given, below the path of --url', async () => {
  await withScript([done], async ({ connection, paths }) => {
    await connection.request('GET', '/v1/groups/%2E%2E');
    assert.deepEqual(paths, ['/base/v1/groups/%2E%2E']);
  });
});

describe('requests that fail temporarily', () => {
  for (const [what, step] of [
    ['429', failed(429)],
    ['500', failed(500)],
    ['503', failed(503)],
    ['a proxy that says 502', answer(502, '<h1>Bad Gateway</h1>')],
    ['a connection that breaks off', brokenOff],
  ] as const) {
    test(`a request is sent again after ${what}, with longer and longer pauses`, async () => {
      await withScript([step, step, step, done], async (observed) => {
        assert.deepEqual((await post(observed)).json, { done: true });
        assert.deepEqual(observed.pauses, [500, 1_000, 2_000]);
        assert.match(observed.notes[0] ?? '', /; trying again in 0\.5 s$/);
      });
    });
  }

  test('a failed request is sent again after the time of Retry-After, a minute at most, and no sooner than without it', async () => {
    const at = (seconds: string) => failed(503, { 'retry-after': seconds });
    await withScript([at('7'), at('0'), at('3600'), at('soon'), done], async (observed) => {
      await post(observed);
      assert.deepEqual(observed.pauses, [7_000, 1_000, 60_000, 4_000]);
    });
  });

  test('a request above the rate limit is sent again until the server takes it', async () => {
    const limited = failed(429, { 'retry-after': '1' });
    const hasty = failed(429, { 'retry-after': '0' });
    const script = [...Array(9).fill(limited), failed(503), ...Array(9).fill(hasty), done];
    await withScript(script, async (observed) => {
      assert.deepEqual((await post(observed)).json, { done: true });
      assert.deepEqual(observed.pauses, [...Array(9).fill(1_000), 4_000, ...Array(9).fill(500)]);
      // It is noted once, and not as often as the server counts.
      assert.deepEqual(
        observed.notes.map((note) => /answers (\d+)/.exec(note)?.[1]),
        ['429', '503'],
      );
    });
  });

  test('a request fails with its reason at the fifth failure', async () => {
    await withScript(Array(5).fill(failed(503)), async (observed) => {
      await assert.rejects(post(observed), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.message, 'the server answers 503 error: not now');
        return true;
      });
    });
  });
});

describe('answers of the API', () => {
  test('an answer with an error of the vocabulary is returned to the caller', async () => {
    const rejection = answer(401, '{"error":"user_not_found","message":"who?"}');
    await withScript([rejection], async (observed) => {
      const { status, json } = await post(observed);
      assert.deepEqual([status, json], [401, { error: 'user_not_found', message: 'who?' }]);
    });
  });

  test('an answer that is not JSON is reported as not from a Rollcall server', async () => {
    await withScript([answer(200, '<h1>Welcome</h1>')], async (observed) => {
      await assert.rejects(post(observed), /answers 200 without JSON/);
    });
  });
});

describe('rejected tokens', () => {
  test('a rejected token ends the request at once where there is no secret', async () => {
    await withScript([challenge], async (observed) => {
      await assert.rejects(post(observed), /rejects the token: invalid_project_token: too old/);
      assert.deepEqual(observed.pauses, []);
    });
  });

  test('a rejected token is replaced once by a fresh token where there is a secret', async () => {
    const clock = new MovedClock();
    const tokens = mintedTokens({ id: 'p', secret: 'a secret of some length' }, clock);
    const later: Script[number] = (request, response) => {
      clock.move(1_000);
      challenge(request, response);
    };
    await withScript(
      [later, done, later, challenge],
      async (observed) => {
        await post(observed);
        const [first, second] = observed.tokens;
        assert.notEqual(first, second);
        await assert.rejects(post(observed), ApiError);
        assert.deepEqual(observed.pauses, []);
      },
      tokens,
    );
  });
});

test('a 413 of a proxy, which is no JSON, makes batches smaller as that of the server does', () =>
  withScript([answer(413, '<html>413 Request Entity Too Large</html>')], async ({ connection }) => {
    const limits = batchLimits();
    const entries = [entryOf('user', { id: 'ann' }, { file: 'roster', line: 1 })];
    const verdict = await applyLines(connection, limits)(entries);
    assert.equal(verdict.kind, 'tooLarge');
    assert.equal(limits.bytes, 1_024);
  }));

test('a token signed with the secret is used for ten minutes', async () => {
  const clock = new MovedClock();
  const tokens = mintedTokens({ id: 'p', secret: 'a secret of some length' }, clock);
  const first = await tokens.token();
  clock.move(10 * 60_000 - 1);
  assert.equal(await tokens.token(), first);
  clock.move(1);
  assert.notEqual(await tokens.token(), first);
});
