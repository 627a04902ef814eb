/** The log while Redis is away and many requests fail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { MovedClock } from '../support/moved-clock.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';

const REQUESTS = 3_000;
const AT_ONCE = 50;

test(`${REQUESTS} requests that fail while Redis is away write one log line a second`, {
  skip: skipsOwnRedis,
}, async (t) => {
  await using redis = await OwnRedis.start();
  const texts: string[] = [];
  const log = pino({ level: 'info' }, { write: (text) => void texts.push(text) });
  const clock = new MovedClock(Date.now());
  await withServer({ settings: { redisUrl: redis.url }, clock, log }, async ({ request }) => {
    await request('PUT', '/v1/users/u', { body: {} });
    await request('PUT', '/v1/groups/g', { body: { name: 'G', members: ['u'] } });
    const update = () =>
      request('PUT', '/v1/users/u/presence', { body: { groupID: 'g', location: { page: 'p' } } });
    assert.equal((await update()).status, 200);
    await redis.stop();
    await until('updates fail', async () => (await update()).status === 503);
    texts.length = 0;
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, update));
      assert.ok(answers.every(({ status }) => status === 503));
    }
    clock.move(2_000);
    t.diagnostic(`${Buffer.byteLength(texts.join(''))} bytes in ${texts.length} lines`);
    const failures = texts
      .map((text) => JSON.parse(text) as { msg: string; count: number; err: { stack?: string } })
      .filter(({ msg }) => msg === 'a request failed');
    const kinds = new Set(failures.map(({ err }) => JSON.stringify(err)));
    assert.ok(failures.length <= 2 * kinds.size, `${failures.length} lines of ${kinds.size} kinds`);
    assert.ok(failures.every(({ err }) => err.stack === undefined));
    assert.ok(failures.reduce((sum, { count }) => sum + count, 0) >= REQUESTS);
    assert.ok(Buffer.byteLength(texts.join('')) < 20_000);
  });
});
