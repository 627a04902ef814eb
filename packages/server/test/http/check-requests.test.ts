import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withApp } from './app-case.ts';

suite('path, query and body are checked as one request', () => {
  const rejected = (method: string, url: string, payload: string | object, headers = {}) =>
    withApp({}, async ({ call }) => {
      const sent = { payload, headers: { 'content-type': 'application/json', ...headers } };
      const answer = await call(method, url, sent);
      return { status: answer.statusCode, ...answer.json<{ error: string; message: string }>() };
    });

  test('a body that is no JSON object is reported before any other error', async () => {
    const { error } = await rejected('PUT', '/v1/groups/%00?x=1', '[]');
    assert.equal(error, 'invalid_request');
  });

  test('unexpected fields of query and body are named together, before missing and invalid fields', async () => {
    const { error, message } = await rejected('POST', '/v1/groups?page=1', { id: 5, nick: 'n' });
    assert.equal(error, 'unexpected_field');
    assert.match(message, /query parameter page .*nick|nick.*query parameter page/);
    assert.match(message, /id, name, status, metadata, members/);
  });

  test('missing fields are reported before an invalid ID in the path', async () => {
    const { error, message } = await rejected('PUT', '/v1/users/%00/preferences', { value: {} });
    assert.equal(error, 'missing_field');
    assert.match(message, /^missing field key /);
  });

  test('invalid fields of path and body are named together', async () => {
    const { error, message } = await rejected('PUT', '/v1/users/%00/preferences', { key: 'k', value: {} });
    assert.equal(error, 'invalid_field');
    assert.match(message, /^invalid fields /);
    assert.match(message, /key/);
    assert.match(message, /id in the path/);
  });

  test('rules between fields are checked at the step of their error code', async () => {
    const presence = { location: { page: 1 }, absent: true, durable: true };
    const missing = await rejected('PUT', '/v1/users/u/presence', presence);
    assert.equal(missing.error, 'missing_field');
    assert.match(missing.message, /groupID/);
    const invalid = await rejected('PUT', '/v1/users/u/presence', { ...presence, groupID: 'g' });
    assert.equal(invalid.error, 'invalid_field');
    assert.match(invalid.message, /location/);
    assert.match(invalid.message, /absent/);
  });

  test('the query of a batch is checked with its body, and nothing is applied', () =>
    withApp({}, async ({ call }) => {
      const both = await call('POST', '/v1/batch?dry=1', { payload: { users: [{ id: 'u', nick: 'n' }] } });
      assert.equal(both.json().error, 'unexpected_field');
      assert.match(both.json().message, /query parameter dry/);
      assert.match(both.json().message, /users\[0\]\.nick/);
      const query = await call('POST', '/v1/batch?dry_run=yes', { payload: { users: [{ id: 'u' }] } });
      assert.equal(query.json().error, 'invalid_field');
      assert.equal((await call('GET', '/v1/users/u')).statusCode, 401);
    }));

  test('an unexpected field name of any length is not repeated in full in the message', async () => {
    const { error, message } = await rejected('PUT', '/v1/groups/g', { ['n'.repeat(100_000)]: 1 });
    assert.equal(error, 'unexpected_field');
    assert.ok(message.length < 1_000, `${message.length} characters`);
  });

  test('the errors of one request do not appear in the answer to a later one', () =>
    withApp({}, async ({ call }) => {
      assert.equal((await call('PUT', '/v1/users/u', { payload: { nick: 1 } })).statusCode, 400);
      assert.equal((await call('PUT', '/v1/users/u', { payload: { name: 'U' } })).statusCode, 200);
    }));
});

suite('PUT of a group without a name', () => {
  test('PUT of a new group without a name is missing_field before invalid values', () =>
    withApp({}, async ({ call }) => {
      const absent = await call('PUT', '/v1/groups/g', { payload: { status: 'gone' } });
      assert.equal(absent.json().error, 'missing_field');
      await call('PUT', '/v1/groups/g', { payload: { name: 'G' } });
      const there = await call('PUT', '/v1/groups/g', { payload: { status: 'gone' } });
      assert.equal(there.json().error, 'invalid_field');
    }));

  test('PUT of a group with If-Match creates nothing, so no name is missing_field', () =>
    withApp({}, async ({ call }) => {
      const headers = { 'if-match': '*' };
      const invalid = await call('PUT', '/v1/groups/g', { headers, payload: { status: 'gone' } });
      assert.equal(invalid.json().error, 'invalid_field');
      const stale = await call('PUT', '/v1/groups/g', { headers, payload: { status: 'deleted' } });
      assert.equal(stale.statusCode, 412);
      assert.equal(stale.json().error, 'invalid_request');
    }));
});
