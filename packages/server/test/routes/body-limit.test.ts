import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError } from '../support/expect.ts';

const server = clockedServer({ settings: { bodyLimitBytes: 2_000 } });

describe('a body over the limit', () => {
  const bodyOf = (bytes: number) => {
    const frame = '{"name":"G","metadata":{"a":""}}';
    return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
  };

  test('a body over the limit is 413 invalid_request; at the limit it is accepted', async () => {
    const own = await server.project();
    expectDone(await own.send('PUT', '/v1/groups/g', bodyOf(2_000)));
    expectError(await own.send('PUT', '/v1/groups/g', bodyOf(2_001)), 413, 'invalid_request');
  });

  test('a body over the limit is 413 also when it comes in chunks, without Content-Length', async () => {
    const own = await server.project();
    const answer = await fetch(`${own.url}/v1/groups/g`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${own.token}` },
      body: new Blob([bodyOf(3_000)]).stream(),
      duplex: 'half',
    });
    assert.equal(answer.status, 413);
    assert.equal(((await answer.json()) as { error: string }).error, 'invalid_request');
  });

  test('a body over the limit without a token is missing_authorization_header: authentication comes first', async () => {
    const headers = { 'content-type': 'application/json' };
    expectError(
      await server.bare('PUT', '/v1/groups/g', headers, bodyOf(3_000)),
      401,
      'missing_authorization_header',
    );
  });

  test('a body over the limit is 413 for the batch too', async () => {
    const own = await server.project();
    expectError(
      await own.send('POST', '/v1/batch', `{"users":[]${' '.repeat(3_000)}}`),
      413,
      'invalid_request',
    );
  });
});
