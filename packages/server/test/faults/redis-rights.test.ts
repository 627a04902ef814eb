/** The account of a Redis loses its rights or its password while the server runs, and gets them back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { inspectRedisServer } from '../../src/wiring.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { type TestServer, withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';

/** The rights that docs/operations.md names. */
const RIGHTS =
  '~rollcall:* &*rollcall:* -@all +@connection +@read +@write +@pubsub +@scripting +info +time'.split(' ');

const urlOf = ({ url }: OwnRedis) => url.replace('//', '//app:secret@');

/** Runs `use` with a server whose account on Redis has these rights alone, and with the lines of its log. */
async function withAccount(
  use: (redis: OwnRedis, server: TestServer, lines: readonly string[]) => Promise<void>,
): Promise<void> {
  await using redis = await OwnRedis.start();
  await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', ...RIGHTS);
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (text) => void lines.push(text) });
  const redisUrl = urlOf(redis);
  await withServer({ settings: { redisUrl }, log }, async (server) => {
    await server.request('PUT', '/v1/users/u', { body: {} });
    await server.request('PUT', '/v1/groups/g', { body: { name: 'G', members: ['u'] } });
    assert.equal(await statusOfUpdate(server), 200);
    await use(redis, server, lines);
  });
}

async function statusOfUpdate({ request }: TestServer): Promise<number> {
  const body = { groupID: 'g', location: { page: 'p' } };
  return (await request('PUT', '/v1/users/u/presence', { body })).status;
}

describe('an account of Redis', { skip: skipsOwnRedis }, () => {
  test('presence is set and read with the rights that the documentation names, and a stream has it', () =>
    withAccount(async (_, { request, url, projectToken }) => {
      const presence = await request('GET', '/v1/groups/g/presence');
      assert.equal((presence.body as { users: unknown[] }).users.length, 1);
      const headers = { authorization: `Bearer ${projectToken}`, accept: 'text/event-stream' };
      const stream = await fetch(`${url}/v1/groups/g/presence`, { headers });
      assert.equal(stream.status, 200);
      await stream.body?.cancel();
      assert.equal((await request('DELETE', '/v1/groups/g')).status, 200);
    }));

  test('rollcall doctor inspects Redis with the rights that the documentation names', () =>
    withAccount(async (redis) => {
      assert.equal((await inspectRedisServer(urlOf(redis))).concern, null);
    }));

  test('without the right to scripts presence is answered 503, and it is set when the right is back', () =>
    withAccount(async (redis, server) => {
      await redis.command('ACL', 'SETUSER', 'app', '-@scripting');
      assert.equal(await statusOfUpdate(server), 503);
      assert.equal((await server.request('GET', '/v1/groups/g/presence')).status, 503);
      await redis.command('ACL', 'SETUSER', 'app', '+@scripting');
      assert.equal(await statusOfUpdate(server), 200);
    }));

  test('the log names the reason why there is no connection, and presence is set when the password is valid again', () =>
    withAccount(async (redis, server, lines) => {
      await redis.command('ACL', 'SETUSER', 'app', 'resetpass', '>another');
      await redis.command('CLIENT', 'KILL', 'USER', 'app');
      await until('the log has the reason', async () => {
        assert.equal(await statusOfUpdate(server), 503);
        return lines.some((line) => /Redis: no connection: WRONGPASS/.test(line));
      });
      await redis.command('ACL', 'SETUSER', 'app', '>secret');
      await until('presence is set', async () => (await statusOfUpdate(server)) === 200);
    }));
});
