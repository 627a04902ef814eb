import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { jwt, seconds } from '../../server/test/support/jwt.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { Rollcall, RollcallClient } from '../src/index.ts';
import { rejects } from './support/rejects.ts';

const server = oneServer();
let project: Project;
let rollcall: Rollcall;

before(async () => {
  await server.started;
  project = await server.project();
  rollcall = new Rollcall({ url: project.url, token: project.token });
  await rollcall.batch({
    users: [
      { id: 'ada', name: 'Ada', email: 'ada@example.com' },
      { id: 'bob', name: 'Bob' },
      { id: 'cy', status: 'deleted' },
    ],
    groups: [{ id: 'docs', name: 'Docs', members: ['ada', 'bob'] }],
  });
});

after(() => rollcall.close());

const clientToken = (claims: Record<string, unknown>) =>
  jwt({ project_id: project.id, iat: seconds(Date.now()), ...claims }, project.secret);

describe('groups', () => {
  test('groups are put, read, listed and deleted', async () => {
    const { message } = await rollcall.groups.put('ops', {
      name: 'Ops',
      members: ['ada'],
      metadata: { a: [1] },
    });
    assert.equal(message, 'created group ops');
    assert.deepEqual(await rollcall.groups.get('ops'), {
      id: 'ops',
      name: 'Ops',
      status: 'active',
      members: ['ada'],
      metadata: { a: [1] },
      connectedToMessenger: false,
    });
    const ids = (await rollcall.groups.list().toArray()).map(({ id }) => id);
    assert.deepEqual(ids, ['docs', 'ops']);
    assert.equal((await rollcall.groups.delete('ops')).success, true);
    await rejects(rollcall.groups.get('ops'), 'group_not_found', 401);
  });

  test('a second creation of a group rejects with group_already_exists', async () => {
    const created = await rollcall.groups.create({ id: 'once', name: 'Once' });
    assert.equal(created.message, 'created group once');
    await rejects(rollcall.groups.create({ id: 'once', name: 'Once' }), 'group_already_exists', 409);
    const ifNone = { ifNoneMatch: '*' };
    await rejects(rollcall.groups.put('once', { name: 'Once' }, ifNone), 'group_already_exists', 409);
    await rollcall.groups.delete('once');
  });

  test('a group is written with ifMatch, and read only if it changed', async () => {
    await rollcall.groups.put('tagged', { name: 'One' });
    const { value, etag } = await rollcall.groups.getTagged('tagged');
    assert.equal(value.name, 'One');
    assert.equal(await rollcall.groups.getIfChanged('tagged', etag), null);
    await rollcall.groups.put('tagged', { name: 'Two' }, { ifMatch: etag });
    await rejects(
      rollcall.groups.put('tagged', { name: 'Three' }, { ifMatch: etag }),
      'invalid_request',
      412,
    );
    const stale = rollcall.groups.changeMembers('tagged', { add: ['ada'] }, { ifMatch: etag });
    await rejects(stale, 'invalid_request', 412);
    await rejects(rollcall.groups.delete('tagged', { ifMatch: etag }), 'invalid_request', 412);
    const changed = await rollcall.groups.getIfChanged('tagged', etag);
    assert.equal(changed?.value.name, 'Two');
    await rollcall.groups.delete('tagged', { ifMatch: changed?.etag });
  });

  test('the members of a group are changed and listed', async () => {
    await rollcall.groups.put('team', { name: 'Team' });
    await rollcall.groups.changeMembers('team', { add: ['ada', 'bob', 'cy'] });
    await rollcall.groups.changeMembers('team', { remove: ['cy'] });
    const members = [];
    for await (const member of rollcall.groups.members('team')) members.push(member);
    assert.deepEqual(members, [
      { id: 'ada', name: 'Ada', email: 'ada@example.com' },
      { id: 'bob', name: 'Bob', email: null },
    ]);
    await rejects(rollcall.groups.members('nowhere').toArray(), 'group_not_found', 401);
    await rollcall.groups.delete('team');
  });
});

describe('users', () => {
  test('users are put, read, created and deleted', async () => {
    await rollcall.users.put('dee', { name: 'Dee', short_name: 'D', metadata: { a: 1 } });
    const { created_at, updated_at, ...user } = await rollcall.users.get('dee');
    assert.deepEqual(user, {
      id: 'dee',
      name: 'Dee',
      short_name: 'D',
      email: null,
      profile_picture_url: null,
      status: 'active',
      metadata: { a: 1 },
    });
    assert.ok(Date.parse(created_at) <= Date.parse(updated_at));
    await rejects(rollcall.users.create({ id: 'dee' }), 'user_already_exists', 409);
    const { etag } = await rollcall.users.getTagged('dee');
    assert.equal(await rollcall.users.getIfChanged('dee', etag), null);
    await rollcall.users.put('dee', { short_name: null }, { ifMatch: etag });
    await rejects(rollcall.users.delete('dee', { ifMatch: etag }), 'invalid_request', 412);
    await rollcall.users.delete('dee');
    await rejects(rollcall.users.get('dee'), 'user_not_found', 401);
    assert.equal((await rollcall.users.create({ id: 'dee' })).message, 'created user dee');
    await rollcall.users.delete('dee');
  });

  test('users are listed, whole and in pages', async () => {
    const list = rollcall.users.list();
    assert.deepEqual(
      (await list.toArray()).map(({ id, status }) => [id, status]),
      [
        ['ada', 'active'],
        ['bob', 'active'],
        ['cy', 'deleted'],
      ],
    );
    const first = await list.page({ limit: 2 });
    assert.deepEqual([first.items.map(({ id }) => id), first.total], [['ada', 'bob'], 3]);
    const second = await list.page({ limit: 2, token: first.next ?? '' });
    assert.deepEqual([second.items.map(({ id }) => id), second.next], [['cy'], null]);
    await rejects(list.page({ limit: 0 }), 'invalid_field', 400);
  });

  test('the groups of a user are listed', async () => {
    const groups = await rollcall.users.groups('ada').toArray();
    assert.deepEqual(groups, [{ id: 'docs', name: 'Docs', status: 'active' }]);
  });
});

test('a list of several pages is read as one list', async () => {
  const other = await server.project();
  const host = new Rollcall({ url: other.url, token: other.token });
  const users = Array.from({ length: 2_500 }, (_, index) => ({ id: `user ${index}` }));
  const groups = Array.from({ length: 1_000 }, (_, index) => ({ id: `group ${index}`, name: 'G' }));
  await host.batch({
    users,
    groups: [...groups.slice(1), { id: 'all', name: 'All', members: users.map(({ id }) => id) }],
  });
  await host.batch({
    groups: [
      { id: 'one more', name: 'G' },
      { id: 'and one', name: 'G' },
    ],
  });
  const members = await host.groups.members('all').toArray();
  assert.deepEqual(new Set(members.map(({ id }) => id)), new Set(users.map(({ id }) => id)));
  assert.equal(members.length, 2_500);
  const all = await host.groups.list().toArray();
  assert.equal(all.length, 1_002);
  assert.equal(new Set(all.map(({ id }) => id)).size, 1_002);
  await host.close();
});

test('a batch with dryRun applies nothing, and a misspelled one is rejected with unexpected_field', async () => {
  const tried = await rollcall.batch(
    { users: [{ id: 'eve' }, { id: 'ada', name: 'Ada' }] },
    { dryRun: true },
  );
  assert.deepEqual(tried.users, { created: 1, updated: 0, unchanged: 1 });
  await rejects(rollcall.users.get('eve'), 'user_not_found', 401);
  const misspelled = { users: [{ id: 'eve', nick: 'E' }] } as unknown as Parameters<Rollcall['batch']>[0];
  await rejects(rollcall.batch(misspelled), 'unexpected_field', 400);
});

test('preferences of a user are merged with the fields that are sent', async () => {
  await rollcall.preferences.put('ada', { key: 'notification_channels', value: { sendViaEmail: false } });
  assert.deepEqual(await rollcall.preferences.get('ada'), [
    { notification_channels: { sendViaMessenger: true, sendViaEmail: false } },
  ]);
});

describe('presence', () => {
  const intro = { page: 'intro', paragraph: '2' };

  test('presence of one user and of a group is put and read', async () => {
    await rollcall.presence.put('ada', {
      groupID: 'docs',
      location: intro,
      exclusiveWithin: { page: 'intro' },
    });
    await rollcall.presence.put('ada', { groupID: 'docs', location: intro, durable: true });
    const ada = await rollcall.presence.get('ada', 'docs');
    assert.equal(ada.user, undefined);
    const { ephemeral, user } = await rollcall.presence.get('ada', 'docs', { expand: 'data,user' });
    assert.deepEqual([ephemeral.data?.length, user?.profile_picture_url], [ephemeral.locations.length, null]);
    assert.deepEqual(ada.ephemeral.locations, [intro]);
    assert.deepEqual(ada.durable?.location, intro);
    const ids = async (filter = {}) =>
      (await rollcall.presence.list({ groupID: 'docs', ...filter }).toArray()).map(({ id }) => id);
    assert.deepEqual(await ids(), ['ada']);
    assert.deepEqual(await ids({ location: { page: 'intro' } }), []);
    assert.deepEqual(await ids({ location: { page: 'intro' }, partialMatch: true }), ['ada']);
    assert.equal(await rollcall.presence.count({ groupID: 'docs' }), 1);
    assert.equal(await rollcall.presence.count({ groupID: 'docs', location: { page: 'faq' } }), 0);
    const [entry] = await rollcall.presence.list({ groupID: 'docs', excludeDurable: true }).toArray();
    assert.equal(entry?.durable, undefined);
    await rejects(rollcall.presence.put('cy', { groupID: 'docs', location: intro }), 'user_not_found', 401);
    await rollcall.presence.put('ada', { groupID: 'docs', location: intro, absent: true });
    assert.deepEqual((await rollcall.presence.get('ada', 'docs')).ephemeral.locations, []);
  });

  test('putMany returns the rejected updates', async () => {
    const update = (userID: string) => ({ userID, groupID: 'docs', location: intro });
    const { updated, refused } = await rollcall.presence.putMany(['ada', 'cy', 'bob'].map(update));
    assert.equal(updated, 2);
    assert.deepEqual(
      refused.map(({ index, userID, error }) => [index, userID, error]),
      [[1, 'cy', 'user_not_found']],
    );
  });
});

test('projects are managed with a customer token', async () => {
  const customer = new Rollcall({ url: project.url, token: server.running.customerToken });
  const { id, secret, name } = await customer.projects.create({ name: 'Another' });
  assert.deepEqual([name, secret.length > 20], ['Another', true]);
  await customer.projects.put(id, { name: 'Renamed' });
  assert.equal((await customer.projects.get(id)).name, 'Renamed');
  assert.ok((await customer.projects.list()).some((one) => one.id === id));
  assert.notEqual((await customer.projects.rotateSecret(id)).secret, secret);
  assert.ok((await customer.projects.rotateSecret(id, { overlap_seconds: 0 })).previous_valid_until);
  await customer.projects.delete(id);
  await rejects(customer.projects.get(id), 'project_not_found', 401);
  await rejects(rollcall.projects.list(), 'invalid_customer_token', 401);
});

test('an access token is issued and revoked', async () => {
  const appToken = jwt({ app_id: project.id, iat: seconds(Date.now()) }, project.secret);
  const { access_token, expires } = await rollcall.tokens.authorize(appToken);
  assert.ok(Date.parse(expires) > Date.now());
  const part = new Rollcall({ url: project.url, token: access_token });
  await part.users.get('ada');
  await part.tokens.revoke();
  await rejects(part.users.get('ada'), 'expired_access_token', 401);
});

test('health checks request no token', async () => {
  const withoutToken = new Rollcall({
    url: project.url,
    token: () => assert.fail('the token was requested'),
  });
  await withoutToken.health.alive();
  await withoutToken.health.ready();
});

describe('a client token', () => {
  const asAda = () => new RollcallClient({ url: project.url, token: clientToken({ user_id: 'ada' }) });

  test('a client token reads the user and their groups', async () => {
    const viewer = await asAda().viewer();
    assert.deepEqual([viewer.user.name, viewer.groups], ['Ada', [{ id: 'docs', name: 'Docs' }]]);
  });

  test('a client token reads the members of a group', async () => {
    const members = await asAda().members('docs').toArray();
    assert.deepEqual(
      members.map(({ id }) => id),
      ['ada', 'bob'],
    );
    await rejects(asAda().members('nowhere').toArray(), 'group_not_found', 401);
  });

  test('a client token writes and reads presence in the group of the call or of the token', async () => {
    const here = { page: 'client' };
    const inDocs = new RollcallClient({
      url: project.url,
      token: clientToken({ user_id: 'ada', group_id: 'docs' }),
    });
    await inDocs.presence.put({ location: here });
    const listed = await asAda().presence.list({ groupID: 'docs', location: here }).toArray();
    assert.deepEqual(listed, [{ id: 'ada', ephemeral: { locations: [here] } }]);
    assert.equal(await inDocs.presence.count({ location: here }), 1);
    await asAda().presence.put({ groupID: 'docs', location: here, absent: true });
    assert.deepEqual(await inDocs.presence.list({ location: here }).toArray(), []);
  });

  test('a client token is rejected with invalid_access_token where a server token is needed', async () => {
    const host = new Rollcall({ url: project.url, token: clientToken({ user_id: 'ada' }) });
    await rejects(host.users.get('ada'), 'invalid_access_token', 401);
  });
});
