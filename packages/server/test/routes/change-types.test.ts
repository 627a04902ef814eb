/** Every type of change over HTTP, with who made it and what it names. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CHANGE_TYPES, type RecordedChange } from '@rollcall/protocol';
import { clientToken } from '../support/browser.ts';
import { changesPage } from '../support/change-feed.ts';
import { markdown } from '../support/conversation.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { until } from '../support/waiting.ts';

type By = 'project' | 'app' | 'access' | 'customer' | 'ann';
type Write = readonly [by: By, method: string, path: string, body: object | undefined, changes: object[]];

const PAGE = { page: '1' };
const region = { groupID: 'g', exclusiveWithin: PAGE, durable: true };
const inG = { group: 'g' };
const inT = { group: 'g', thread: 't' };
const inM = { ...inT, message: 'm' };
const EMAIL_OFF = { key: 'notification_channels', value: { sendViaEmail: false } };
/** A location of more than half of what a user may have. */
const wide = (name: string) => ({
  [name]: 'x',
  ...Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`k${index}`, 'x'.repeat(1_000)])),
});

/** In this order, on an empty project. */
const WRITES: readonly Write[] = [
  ['project', 'PUT', '/v1/users/ann', { name: 'A' }, [{ type: 'user.created', user: 'ann' }]],
  [
    'app',
    'PUT',
    '/v1/users/bob',
    { status: 'deleted' },
    [
      { type: 'user.created', user: 'bob' },
      { type: 'user.deactivated', user: 'bob' },
    ],
  ],
  [
    'access',
    'PUT',
    '/v1/users/bob',
    { status: 'active', email: 'b@x.org', short_name: 'b' },
    [
      { type: 'user.updated', user: 'bob', fields: ['short_name', 'email'] },
      { type: 'user.activated', user: 'bob' },
    ],
  ],
  ['project', 'PUT', '/v1/users/bob', { email: 'b@x.org', status: 'active' }, []],
  [
    'project',
    'PUT',
    '/v1/groups/g',
    { name: 'G', members: ['ann', 'bob'] },
    [
      { type: 'group.created', ...inG },
      { type: 'member.added', ...inG, users: ['ann', 'bob'] },
    ],
  ],
  [
    'project',
    'PUT',
    '/v1/groups/g',
    { name: 'N', metadata: { a: 1 }, status: 'deleted' },
    [
      { type: 'group.updated', ...inG, fields: ['name', 'metadata'] },
      { type: 'group.deactivated', ...inG },
    ],
  ],
  ['project', 'PUT', '/v1/groups/g', { status: 'active' }, [{ type: 'group.activated', ...inG }]],
  [
    'project',
    'PUT',
    '/v1/ann/preferences',
    EMAIL_OFF,
    [{ type: 'preferences.updated', user: 'ann', fields: ['notification_channels'] }],
  ],
  ['project', 'PUT', '/v1/ann/preferences', EMAIL_OFF, []],
  [
    'project',
    'PUT',
    '/v1/users/ann/presence',
    { ...region, location: PAGE },
    [{ type: 'durable_presence.moved', ...inG, user: 'ann' }],
  ],
  ['ann', 'PUT', '/v1/client/presence', { ...region, location: PAGE }, []],
  [
    'ann',
    'PUT',
    '/v1/client/presence',
    { ...region, location: { ...PAGE, line: '2' } },
    [{ type: 'durable_presence.moved', ...inG, user: 'ann' }],
  ],
  [
    'ann',
    'POST',
    '/v1/client/threads',
    { id: 't', groupID: 'g', name: 'T' },
    [{ type: 'thread.created', ...inT }],
  ],
  [
    'ann',
    'PUT',
    '/v1/client/threads/t',
    { resolved: true },
    [{ type: 'thread.updated', ...inT, fields: ['resolved'] }],
  ],
  [
    'ann',
    'POST',
    '/v1/client/threads/t/messages',
    { id: 'm', content: markdown('Hi') },
    [{ type: 'message.created', ...inM }],
  ],
  ['ann', 'PUT', '/v1/client/threads/t/seen', {}, []],
  [
    'project',
    'POST',
    '/v1/threads/t/messages/m/append',
    { text: '!' },
    [{ type: 'message.appended', ...inM }],
  ],
  [
    'project',
    'PUT',
    '/v1/threads/t/messages/m',
    { content: markdown('Ho'), url: 'https://x.org' },
    [{ type: 'message.updated', ...inM, fields: ['content', 'url'] }],
  ],
  [
    'ann',
    'PUT',
    '/v1/client/threads/t/messages/m',
    { deleted: true },
    [{ type: 'message.updated', ...inM, fields: ['deleted'] }],
  ],
  ['project', 'DELETE', '/v1/threads/t/messages/m', undefined, [{ type: 'message.removed', ...inM }]],
  ['project', 'DELETE', '/v1/threads/t', undefined, [{ type: 'thread.removed', ...inT }]],
  [
    'project',
    'POST',
    '/v1/groups/g/members',
    { remove: ['bob', 'none'] },
    [{ type: 'member.removed', ...inG, users: ['bob'] }],
  ],
  [
    'project',
    'DELETE',
    '/v1/users/ann',
    undefined,
    [
      { type: 'member.removed', ...inG, users: ['ann'] },
      { type: 'user.removed', user: 'ann' },
    ],
  ],
  [
    'project',
    'POST',
    '/v1/groups/g/members',
    { add: ['bob'] },
    [{ type: 'member.added', ...inG, users: ['bob'] }],
  ],
  [
    'project',
    'DELETE',
    '/v1/groups/g',
    undefined,
    [
      { type: 'member.removed', ...inG, users: ['bob'] },
      { type: 'group.removed', ...inG },
    ],
  ],
];

/** The same of webhooks, which need no user and no group. */
const WEBHOOK = '/v1/webhooks/w';
const paused = { url: 'https://receiver.invalid/', status: 'paused' };
const ofW = { webhook: 'w' };
const WEBHOOK_WRITES: readonly Write[] = [
  ['project', 'PUT', WEBHOOK, paused, [{ type: 'webhook.created', ...ofW }]],
  ['app', 'PUT', WEBHOOK, paused, []],
  [
    'access',
    'PUT',
    WEBHOOK,
    { url: 'https://receiver.invalid/b', types: ['user.*'] },
    [{ type: 'webhook.updated', ...ofW, fields: ['url', 'types'] }],
  ],
  ['project', 'POST', `${WEBHOOK}/rotate-secret`, {}, [{ type: 'webhook.secret_rotated', ...ofW }]],
  ['app', 'POST', `${WEBHOOK}/replay`, { after: 'latest' }, [{ type: 'webhook.replayed', ...ofW }]],
  ['project', 'DELETE', WEBHOOK, undefined, [{ type: 'webhook.removed', ...ofW }]],
];
const ALL_WRITES = [...WRITES, ...WEBHOOK_WRITES];

const server = oneServer();

describe('types and actors of changes', () => {
  let project: Project;
  let actors: Record<string, object>;
  let all: RecordedChange[];
  const found: Map<string, object[]> = new Map();

  before(async () => {
    await server.started;
    project = await server.project();
    const appToken = clientToken(project, { app_id: project.id, project_id: undefined });
    const authorize = async (request: string) => {
      const body = { signed_app_token: appToken };
      const answer = await project.post('/v1/authorize', body, { 'x-request-id': request });
      return answer.json<{ access_token: string }>().access_token;
    };
    const tokens: Record<By, string> = {
      project: project.token,
      app: appToken,
      access: await authorize('issued'),
      customer: server.customerToken(),
      ann: clientToken(project, { user_id: 'ann' }),
    };
    const send = (by: By, method: string, path: string, body: object | undefined, id: string) =>
      project.send(method, path, body && JSON.stringify(body), {
        authorization: `Bearer ${tokens[by]}`,
        'x-request-id': id,
      });
    for (const [index, [by, method, path, body]] of ALL_WRITES.entries()) {
      const answer = await send(by, method, path, body, `write-${index}`);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    }
    const own = `/v1/projects/${project.id}`;
    await send('customer', 'PUT', own, { name: 'New' }, 'renamed');
    await send('customer', 'POST', `${own}/rotate-secret`, {}, 'rotated');
    await send('access', 'DELETE', '/v1/authorize', undefined, 'revoked');
    await until('the last change', async () => {
      all = (await changesPage(project, { limit: '10000' })).changes;
      return all.at(-1)?.request_id === 'revoked';
    });
    for (const { id, at, actor, request_id: request, ...change } of all)
      found.set(request as string, [...(found.get(request as string) ?? []), change]);
    const session = all.find(({ type }) => type === 'access_token.revoked')?.actor.id;
    actors = {
      project: { kind: 'project_token', id: project.id },
      app: { kind: 'app_token', id: project.id },
      access: { kind: 'access_token', id: session },
      customer: { kind: 'customer_token', id: server.running.customerId },
      ann: { kind: 'client_token', id: 'ann' },
    };
  });

  for (const [index, [by, method, path, body, changes]] of ALL_WRITES.entries()) {
    const types = changes.map((change) => (change as RecordedChange).type).join(', ') || 'no change';
    const what = `${method} ${path} ${JSON.stringify(body ?? {}).slice(0, 60)}`;
    test(`${what} is recorded as ${types} (write ${index})`, () => {
      assert.deepEqual(found.get(`write-${index}`) ?? [], changes);
      for (const { actor, request_id: request } of all)
        if (request === `write-${index}`) assert.deepEqual(actor, actors[by]);
    });
  }

  test('projects that are renamed, secrets that are rotated, and access tokens are recorded with their actors', () => {
    const rest = all.filter(({ request_id: request }) => !request?.startsWith('write-'));
    assert.deepEqual(
      rest.map(({ type, request_id: request, actor }) => [type, request, actor]),
      [
        ['access_token.issued', 'issued', actors.app],
        ['project.renamed', 'renamed', actors.customer],
        ['project.secret_rotated', 'rotated', actors.customer],
        ['access_token.revoked', 'revoked', actors.access],
      ],
    );
    assert.ok((all.at(-1)?.actor.id?.length ?? 0) > 0);
  });

  test('the actor filter takes a kind, and a kind with the ID of a user, of a session and of a customer', async () => {
    for (const { kind, id } of Object.values(actors) as { kind: string; id: string }[]) {
      const expected = all.filter(({ actor }) => actor.kind === kind);
      assert.deepEqual((await changesPage(project, { actor: kind })).changes, expected);
      assert.deepEqual((await changesPage(project, { actor: `${kind}:${id}` })).changes, expected);
      assert.deepEqual((await changesPage(project, { actor: `${kind}:other` })).changes, []);
    }
  });

  test('a type filter of every type and prefix finds the changes of exactly that type', async () => {
    // Its own test below has the one type that is missing here.
    const recorded = new Set<string>(all.map(({ type }) => type));
    assert.deepEqual(
      CHANGE_TYPES.filter((type) => !recorded.has(type)),
      ['durable_presence.removed'],
    );
    const prefixes = new Set(CHANGE_TYPES.map((type) => type.replace(/\..*/, '.*')));
    for (const type of [...CHANGE_TYPES, ...prefixes]) {
      const expected = all.filter(
        (change) => change.type === type || type === change.type.replace(/\..*/, '.*'),
      );
      assert.deepEqual((await changesPage(project, { type })).changes, expected, type);
    }
  });

  test('a durable location that ends by a bound is durable_presence.removed of its user', async () => {
    const other = await server.projectWithGroup('g', 'u');
    // 1 MiB has room for 146 locations of these.
    const updates = Array.from({ length: 150 }, (_, index) => ({
      ...{ userID: 'u', groupID: 'g', durable: true, location: wide(`n${index}`) },
    }));
    for (let from = 0; from < updates.length; from += 75)
      await other.put('/v1/presence', { updates: updates.slice(from, from + 75) });
    await until('the end of a location', async () => {
      const { changes } = await changesPage(other, { type: 'durable_presence.removed' });
      const [change] = changes;
      if (change === undefined) return false;
      assert.deepEqual([change.group, change.user, change.actor.kind], ['g', 'u', 'project_token']);
      return true;
    });
  });
});
