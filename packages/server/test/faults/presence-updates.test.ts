import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PresenceEntry } from '@rollcall/protocol';
import { expectError, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { OwnRedis } from '../support/own-redis.ts';
import { skipsRedis } from '../support/redis.ts';
import { withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';

test('many presence updates without Redis are answered with 503 and the message that some may be applied, and can be sent again', {
  skip: await skipsRedis(),
}, async () => {
  await using redis = await OwnRedis.start();
  await withServer({ settings: { redisUrl: redis.url } }, async (server) => {
    const seed = { users: [{ id: 'ada' }], groups: [{ id: 'g', name: 'G', members: ['ada'] }] };
    expectOk((await server.request('POST', '/v1/batch', { body: seed })) as Answer);
    const at = { userID: 'ada', groupID: 'g' };
    const body = {
      updates: [
        { ...at, location: { page: 'durable' }, durable: true },
        { ...at, location: { page: '1' } },
      ],
    };
    const put = async () => (await server.request('PUT', '/v1/presence', { body })) as Answer;
    await redis.stop();
    const rejected = await put();
    expectError(rejected, 503, 'error', 'some of the updates may have been applied');
    assert.match(String(rejected.headers['retry-after']), /^\d+$/);
    await redis.start();
    await until('the updates are applied', async () => (await put()).status === 200);
    const entry = await server.request('GET', '/v1/users/ada/presence?groupID=g');
    const { ephemeral, durable } = expectOk<PresenceEntry>(entry as Answer);
    assert.deepEqual(ephemeral.locations, [{ page: '1' }]);
    assert.deepEqual(durable?.location, { page: 'durable' });
  });
});
