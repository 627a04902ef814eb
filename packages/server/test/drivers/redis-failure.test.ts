import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisFailure } from '../../src/redis/redis-failure.ts';

/** What ioredis rejects with when a command is sent on a connection that has just ended. */
const notWritable = new Error("Stream isn't writeable and enableOfflineQueue options is false");

test('the failure of a call without a connection has the reason where it is known, and never the own error of the client', () => {
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:6379');
  const failures = [redisFailure(notWritable, refused), redisFailure(notWritable)];
  assert.deepEqual(
    failures.map(({ cause }) => (cause as Error).message),
    ['connect ECONNREFUSED 127.0.0.1:6379', 'it was closed, and there is no other one yet'],
  );
});
