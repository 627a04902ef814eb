import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { jwt, seconds } from '../support/jwt.ts';
import { recordsAfter } from '../support/recorded.ts';
import { until } from '../support/waiting.ts';
import { withApp } from './app-case.ts';

test('every change has the ID of the request that wrote it, also the login of a client and a new name of the project', () =>
  withApp({}, async ({ call, clock, engine, project, customerAuthorization }) => {
    const client = (claims: object) =>
      `Bearer ${jwt({ project_id: 'wiki', iat: seconds(clock.now()), user_id: 'ann', ...claims }, 'wiki-secret')}`;
    const writes: [method: string, url: string, payload: object | undefined, authorization?: string][] = [
      ['PUT', '/v1/users/ann', { name: 'Ann' }],
      ['PUT', '/v1/groups/g', { name: 'G', members: ['ann'] }],
      ['PUT', '/v1/ann/preferences', { key: 'notification_channels', value: { sendViaEmail: false } }],
      ['GET', '/v1/client/viewer', undefined, client({ user_details: { name: 'Ann Lee' } })],
      ['PUT', '/v1/client/presence', { groupID: 'g', location: { p: '1' }, durable: true }, client({})],
      ['PUT', '/v1/projects/wiki', { name: 'New' }, customerAuthorization],
      ['POST', '/v1/projects/wiki/rotate-secret', {}, customerAuthorization],
    ];
    for (const [index, [method, url, payload, authorization]] of writes.entries()) {
      const headers = { 'x-request-id': `request-${index}`, ...(authorization && { authorization }) };
      const answer = await call(method, url, { headers, ...(payload && { payload }) });
      assert.equal(answer.statusCode, 200, answer.body);
    }
    const changes = await recordsAfter(engine.store, project);
    const ids = new Set(changes.map(({ requestId }) => requestId));
    assert.deepEqual(
      [...ids],
      writes.map((_, index) => `request-${index}`),
    );
  }));

test('changes of credentials are ordered right after their write: readers need not wait for the interval', () =>
  withApp({}, async ({ call, clock, engine, customerAuthorization }) => {
    let ordered = 0;
    engine.broker.subscribe(({ type }) => {
      if (type === 'changes') ordered += 1;
    });
    const iat = seconds(clock.now());
    const payload = { signed_app_token: jwt({ app_id: 'wiki', iat }, 'wiki-secret') };
    const authorized = await call('POST', '/v1/authorize', { payload });
    await until('the new token to be ordered', () => ordered === 1);
    const authorization = `Bearer ${authorized.json<{ access_token: string }>().access_token}`;
    const ofCustomer = { headers: { authorization: customerAuthorization } };
    await call('DELETE', '/v1/authorize', { headers: { authorization } });
    await until('the revocation to be ordered', () => ordered === 2);
    await call('PUT', '/v1/projects/wiki', { ...ofCustomer, payload: { name: 'New' } });
    await until('the new name to be ordered', () => ordered === 3);
    await call('POST', '/v1/projects/wiki/rotate-secret', { ...ofCustomer, payload: {} });
    await until('the rotation to be ordered', () => ordered === 4);
  }));

test('the log has each project that is created or deleted, with the customer and the ID of the request', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  await withApp({ log }, async ({ call, customerAuthorization: authorization }) => {
    const by = (id: string) => ({ headers: { authorization, 'x-request-id': id } });
    const created = await call('POST', '/v1/projects', { ...by('r1'), payload: { name: 'New' } });
    const { id, secret } = created.json<{ id: string; secret: string }>();
    assert.equal((await call('DELETE', `/v1/projects/${id}`, by('r2'))).statusCode, 200);
    const found = lines.map(({ msg, projectId, customerId, reqId }) => ({
      msg,
      projectId,
      customerId,
      reqId,
    }));
    const common = { projectId: id, customerId: 'acme' };
    assert.deepEqual(found, [
      { msg: 'project created', ...common, reqId: 'r1' },
      { msg: 'project deleted', ...common, reqId: 'r2' },
    ]);
    assert.ok(!JSON.stringify(lines).includes(secret));
  });
});
