import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { segment } from '../support/project-client.ts';
import { createWebhook, webhook } from '../support/webhook-receiver.ts';

const server = oneServer();
const URL_A = 'https://receiver.invalid/a';
const PAUSED = { url: URL_A, status: 'paused' };

interface Listed {
  readonly webhooks: readonly { readonly id: string }[];
}

describe('PUT /v1/webhooks/<ID>', () => {
  test('a webhook is created with 201 and a secret that no later answer has', async () => {
    const project = await server.project();
    const answer = await project.put('/v1/webhooks/w', { ...PAUSED, types: ['member.*'] });
    assert.equal(answer.status, 201);
    const { secret, ...rest } = answer.json<Record<string, unknown>>();
    assert.deepEqual(rest, { success: true, message: 'created webhook w' });
    assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
    const got = await project.get('/v1/webhooks/w');
    const { created_at: createdAt, ...fields } = expectOk<Record<string, unknown>>(got);
    assert.equal(new Date(String(createdAt)).toISOString(), createdAt);
    const common = { id: 'w', url: URL_A, types: ['member.*'], status: 'paused' };
    assert.deepEqual(fields, { ...common, behind: 0, last_attempt: null });
    const listed = await project.get('/v1/webhooks');
    assert.deepEqual(expectOk(listed), { webhooks: [{ ...common, created_at: createdAt }] });
    const changes = await project.get('/v1/changes');
    for (const { text } of [got, listed, changes]) assert.ok(!text.includes(String(secret)));
  });

  test('only supplied fields of a webhook change, and a change of nothing is recorded nowhere', async () => {
    const project = await server.project();
    await createWebhook(project, 'w', URL_A, { status: 'paused' });
    expectDone(await project.put('/v1/webhooks/w', { types: ['user.created'] }), 'updated webhook w');
    expectDone(await project.put('/v1/webhooks/w', { types: ['user.created'], url: URL_A }));
    expectDone(await project.put('/v1/webhooks/w', {}));
    expectDone(await project.put('/v1/webhooks/w', { status: 'active', url: `${URL_A}b` }));
    const changes = await readChanges(project, 3, { type: 'webhook.*' });
    assert.deepEqual(
      changes.map(({ type, webhook: id, fields }) => [type, id, fields]),
      [
        ['webhook.created', 'w', undefined],
        ['webhook.updated', 'w', ['types']],
        ['webhook.updated', 'w', ['url', 'status']],
      ],
    );
  });

  test('a webhook without url that is not there is rejected with missing_field, before its invalid fields', async () => {
    const project = await server.project();
    expectError(await project.put('/v1/webhooks/w', {}), 400, 'missing_field', 'url');
    expectError(await project.put('/v1/webhooks/w', { types: 1 }), 400, 'missing_field', 'url');
    expectError(await project.put('/v1/webhooks/w', { types: 1, x: 2 }), 400, 'unexpected_field', 'x');
    await createWebhook(project, 'w', URL_A, { status: 'paused' });
    expectError(await project.put('/v1/webhooks/w', { types: 1 }), 400, 'invalid_field', 'types');
  });

  test('a wrong field of a webhook is rejected with invalid_field', async () => {
    const project = await server.project();
    const url = URL_A;
    const wrong = [
      ...[{ url: 'http://receiver.invalid/' }, { url: 'ftp://a/' }, { url: 'a' }, { url: null }, { url: 1 }],
      ...[
        { url: 'https://a/\0' },
        { url: 'https://a/\ud800' },
        { url: 'https://u:p@receiver.invalid/' },
        { url: `https://a/${'x'.repeat(2_048)}` },
      ],
      ...[
        { url, types: [] },
        { url, types: ['nothing'] },
        { url, types: ['*'] },
        { url, types: null },
      ],
      ...[
        { url, types: 'user.*' },
        { url, types: Array(101).fill('user.*') },
        { url, types: [1] },
      ],
      ...[
        { url, status: 'failing' },
        { url, status: 'deleted' },
        { url, status: null },
      ],
      ...[
        { url, after: '1' },
        { url, after: null },
        { url, after: 5 },
      ],
    ];
    for (const body of wrong) expectError(await project.put('/v1/webhooks/w', body), 400, 'invalid_field');
    expectError(await project.get('/v1/webhooks/w'), 404, 'webhook_not_found', 'w');
  });

  test('a webhook of any legal ID is found by it, and lists are in order of ID', async () => {
    const project = await server.project();
    const ids = ['ä/b', '..', '😀', 'B', 'a'];
    for (const id of ids) await createWebhook(project, segment(id), URL_A, { status: 'paused' });
    for (const id of ids)
      assert.equal(expectOk<{ id: string }>(await project.get(`/v1/webhooks/${segment(id)}`)).id, id);
    const { webhooks } = expectOk<Listed>(await project.get('/v1/webhooks'));
    assert.deepEqual(
      webhooks.map(({ id }) => id),
      ['..', 'B', 'a', 'ä/b', '😀'],
    );
  });

  test('a project has 100 webhooks at most, however many requests race: one more is 400 invalid_request', async () => {
    const project = await server.project();
    const ids = Array.from({ length: 103 }, (_, index) => `w${index}`);
    const answers = await Promise.all(ids.map((id) => project.put(`/v1/webhooks/${id}`, PAUSED)));
    const rejected = answers.filter(({ status }) => status !== 201);
    assert.equal(rejected.length, 3);
    for (const answer of rejected) expectError(answer, 400, 'invalid_request', '100');
    const [one] = answers.flatMap(({ status }, index) => (status === 201 ? [ids[index]] : []));
    expectDone(await project.put(`/v1/webhooks/${one}`, { types: ['user.*'] }));
    expectDone(await project.delete(`/v1/webhooks/${one}`), `deleted webhook ${one}`);
    await createWebhook(project, 'another', URL_A, { status: 'paused' });
  });

  test('one of many requests that create the same webhook gets 201 and the secret', async () => {
    const project = await server.project();
    const all = await Promise.all(Array.from({ length: 8 }, () => project.put('/v1/webhooks/w', PAUSED)));
    assert.deepEqual(all.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
    await readChanges(project, 1, { type: 'webhook.*' });
  });

  test('a webhook begins at after, and a position that is not stored is 410 invalid_request', async () => {
    const project = await server.projectWithUsers('ada', 'bob', 'cid');
    const [first] = await readChanges(project, 3);
    const after = first?.id ?? '';
    await createWebhook(project, 'w', URL_A, { status: 'paused', after, types: ['user.*'] });
    assert.equal((await webhook(project, 'w')).behind, 2);
    const ahead = after.replace(/-\d+-\d+$/, '-99-0');
    expectError(await project.put('/v1/webhooks/v', { ...PAUSED, after: ahead }), 410, 'invalid_request');
    // `after` has no effect on a webhook that exists.
    expectDone(await project.put('/v1/webhooks/w', { ...PAUSED, after: ahead }));
  });

  test('a webhook that is deleted meanwhile is not created at a position that is not stored', async () => {
    const project = await server.project();
    for (let count = 0; count < 20; count += 1) {
      await createWebhook(project, 'w', URL_A, { status: 'paused' });
      const [, answer] = await Promise.all([
        project.delete('/v1/webhooks/w'),
        project.put('/v1/webhooks/w', { ...PAUSED, after: 'abc-99999-0' }),
      ]);
      if (answer.status !== 200) expectError(answer, 410, 'invalid_request');
      await project.delete('/v1/webhooks/w');
    }
  });
});

describe('webhooks that are not there', () => {
  test('every endpoint of an unknown webhook answers 404 webhook_not_found, also where its position is gone', async () => {
    const project = await server.project();
    await createWebhook(await server.project(), 'other', URL_A, { status: 'paused' });
    const { next } = await changesPage(project, { after: 'latest' });
    const gone = next.replace(/-\d+-\d+$/, '-99-0');
    const at = (path = '') => `/v1/webhooks/other${path}`;
    for (const path of ['', '/attempts']) expectError(await project.get(at(path)), 404, 'webhook_not_found');
    expectError(await project.delete(at()), 404, 'webhook_not_found');
    for (const after of [gone, 'latest'])
      expectError(await project.post(at('/replay'), { after }), 404, 'webhook_not_found');
    for (const path of ['/rotate-secret', '/test'])
      expectError(await project.post(at(path), {}), 404, 'webhook_not_found');
  });

  test('a webhook that was deleted and created again has nothing of the one before', async () => {
    const project = await server.project();
    const secret = await createWebhook(project, 'w', 'https://127.0.0.1:1/', { types: ['group.*'] });
    expectOk(await project.post('/v1/webhooks/w/test', {}));
    expectDone(await project.delete('/v1/webhooks/w'));
    assert.notEqual(await createWebhook(project, 'w', URL_A, { status: 'paused' }), secret);
    const { types, last_attempt: last } = await webhook(project, 'w');
    assert.deepEqual([types, last], [null, null]);
  });
});

describe('the secret and the position of a webhook', () => {
  test('rotate-secret answers a new secret and until when the one before signs, and takes no fields', async () => {
    const project = await server.project();
    const secret = await createWebhook(project, 'w', URL_A, { status: 'paused' });
    const answer = await project.send('POST', '/v1/webhooks/w/rotate-secret');
    const rotated = expectOk<{ secret: string; previous_valid_until: string }>(answer);
    assert.match(rotated.secret, /^whsec_/);
    assert.notEqual(rotated.secret, secret);
    const left = Date.parse(rotated.previous_valid_until) - Date.now();
    assert.ok(left > 86_000_000 && left <= 86_400_000);
    expectError(await project.post('/v1/webhooks/w/rotate-secret', { a: 1 }), 400, 'unexpected_field');
    const [, change] = await readChanges(project, 2, { type: 'webhook.*' });
    assert.equal(change?.type, 'webhook.secret_rotated');
  });

  test('a replay moves a webhook backwards and forwards, and does not change its status', async () => {
    const project = await server.project();
    await createWebhook(project, 'w', URL_A, { status: 'paused', types: ['user.*'] });
    await project.seedUsers('ada', 'bob');
    const all = await readChanges(project, 3);
    assert.equal((await webhook(project, 'w')).behind, 2);
    const replay = (after: unknown) => project.post('/v1/webhooks/w/replay', { after });
    expectDone(await replay('latest'), 'moved webhook w');
    assert.equal((await webhook(project, 'w')).behind, 0);
    expectDone(await replay(all[1]?.id));
    assert.equal((await webhook(project, 'w')).behind, 1);
    expectError(await replay(all[1]?.id.replace(/-\d+-\d+$/, '-99-0')), 410, 'invalid_request');
    for (const after of ['no', null, 1]) expectError(await replay(after), 400, 'invalid_field', 'after');
    expectError(await project.post('/v1/webhooks/w/replay', {}), 400, 'missing_field', 'after');
    assert.equal((await webhook(project, 'w')).status, 'paused');
    const recorded = await readChanges(project, 3, { type: 'webhook.*' });
    assert.deepEqual(
      recorded.map(({ type }) => type),
      ['webhook.created', 'webhook.replayed', 'webhook.replayed'],
    );
  });
});
