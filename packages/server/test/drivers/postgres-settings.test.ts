/** A PostgreSQL whose database has settings for older programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';

const OLDER = ['standard_conforming_strings = off', 'array_nulls = off', 'transform_null_equals = on'];

test(
  'changes, webhooks, members and appends are the same on a database with settings for older programs',
  {
    skip: skipsPostgres,
  },
  () =>
    withDatabase(async (databaseUrl) => {
      await withClient(databaseUrl, async (client) => {
        const { rows } = await client.query('SELECT quote_ident(current_database()) AS name');
        for (const setting of OLDER) await client.query(`ALTER DATABASE ${rows[0]?.name} SET ${setting}`);
      });
      await withServer({ settings: { databaseUrl } }, async ({ request }) => {
        const send = async (method: string, path: string, body: unknown) => {
          const { status, text } = await request(method, path, { body });
          assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
        };
        await send('PUT', '/v1/users/u%5C', { name: 'a\\b' });
        await send('PUT', '/v1/groups/g', { name: 'G' });
        await send('POST', '/v1/groups/g/members', { add: ['u\\'] });
        await send('POST', '/v1/groups/g/members', { remove: ['u\\'], add: [] });
        await send('POST', '/v1/groups/g/members', { add: ['u\\'] });
        await send('PUT', '/v1/webhooks/w', { url: 'https://example.com/', status: 'paused' });
        await send('POST', '/v1/threads', { id: 't', groupID: 'g', name: 'T' });
        const content = [{ type: 'markdown', children: [{ text: 'a\\' }] }];
        await send('POST', '/v1/threads/t/messages', { id: 'm', authorID: 'u\\', content });
        await send('POST', '/v1/threads/t/messages/m/append', { text: 'b' });
        const types = async () => {
          const { body } = await request('GET', '/v1/changes');
          return (body as { changes: { type: string }[] }).changes.map(({ type }) => type);
        };
        await until('all changes are ordered', async () => (await types()).at(-1) === 'message.appended');
        assert.deepEqual(await types(), [
          'user.created',
          'group.created',
          'member.added',
          'member.removed',
          'member.added',
          'webhook.created',
          'thread.created',
          'message.created',
          'message.appended',
        ]);
      });
    }),
);
