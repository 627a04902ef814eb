import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneServer } from '../../server/test/support/one-server.ts';
import { Rollcall } from '../src/index.ts';
import { rejects } from './support/rejects.ts';

const server = oneServer();

test('webhooks are put, read, rotated, replayed, tested and deleted', async () => {
  const { url, token } = await server.project();
  const rollcall = new Rollcall({ url, token });
  const { webhooks } = rollcall;
  const created = await webhooks.put('w', {
    url: 'https://127.0.0.1:1/',
    types: ['user.*'],
    status: 'paused',
  });
  assert.match('secret' in created ? created.secret : '', /^whsec_/);
  assert.equal((await webhooks.put('w', { types: ['group.*'] })).message, 'updated webhook w');
  const { types, status, behind, last_attempt: last } = await webhooks.get('w');
  // The annotations are of the published types.
  const only: string[] | null = types;
  assert.deepEqual([only, status, behind, last], [['group.*'], 'paused', 0, null]);
  assert.deepEqual(
    (await webhooks.list()).map(({ id }) => id),
    ['w'],
  );
  assert.match((await webhooks.rotateSecret('w')).secret, /^whsec_/);
  assert.equal((await webhooks.replay('w', { after: 'latest' })).success, true);
  const attempt = await webhooks.test('w');
  assert.equal(attempt.error, 'the address of the host is not public');
  const answered: number | null = attempt.status;
  assert.equal(answered, null);
  assert.deepEqual(await webhooks.attempts('w'), [attempt]);
  await webhooks.delete('w');
  await rejects(webhooks.get('w'), 'webhook_not_found', 404);
  await rollcall.close();
});
