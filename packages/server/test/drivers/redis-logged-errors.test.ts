/** What the log has of an error of Redis. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { recordedLog } from '../support/recorded-log.ts';
import { withServer } from '../support/server.ts';

test('an unexpected error of Redis is logged without the arguments of its command, which have what a request sent', {
  skip: skipsOwnRedis,
}, async () => {
  await using redis = await OwnRedis.start();
  const { log, lines } = recordedLog<object>();
  await withServer({ settings: { redisUrl: redis.url }, log }, async ({ request }) => {
    await request('PUT', '/v1/users/u', { body: {} });
    await request('PUT', '/v1/groups/g', { body: { name: 'G', members: ['u'] } });
    await request('PUT', '/v1/users/u/presence', { body: { groupID: 'g', location: { page: 'p' } } });
    for (const key of (await redis.command('KEYS', '*:g}:*')) as string[]) {
      await redis.command('DEL', key);
      await redis.command('SET', key, 'unexpected');
    }
    const answer = await request('GET', '/v1/groups/g/presence?location[page]=confidential');
    assert.equal(answer.status, 500);
  });
  const logged = JSON.stringify(lines);
  assert.match(logged, /WRONGTYPE/);
  assert.doesNotMatch(logged, /confidential/);
});
