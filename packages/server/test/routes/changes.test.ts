import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { StreamReader } from '../support/stream-reader.ts';

const server = oneServer();

describe('GET /v1/changes', () => {
  test('a change has its type, its time, its actor, the ID of its request and the IDs concerned', async () => {
    const project = await server.projectWithUsers('ada', 'bob');
    const [{ next } = assert.fail('a page')] = [await changesPage(project, { after: 'latest' })];
    const write = { name: 'Docs', members: ['ada', 'bob'] };
    expectDone(await project.put('/v1/groups/docs', write, { 'x-request-id': 'r1' }));
    const changes = await readChanges(project, 2, { request_id: 'r1' });
    const actor = { kind: 'project_token', id: project.id };
    const common = { actor, request_id: 'r1', group: 'docs' };
    assert.deepEqual(
      changes.map(({ id: _id, at: _at, ...rest }) => rest),
      [
        { type: 'group.created', ...common },
        { type: 'member.added', ...common, users: ['ada', 'bob'] },
      ],
    );
    for (const { at } of changes) assert.equal(new Date(at).toISOString(), at);
    assert.match(next, /^[0-9a-z]+-\d+-\d+$/);
  });

  test('pages of any limit have every change once, and the ID of a change continues after it', async () => {
    const project = await server.projectWithUsers('a', 'b', 'c', 'd', 'e');
    expectDone(await project.put('/v1/groups/g', { name: 'G', members: ['a', 'b'], status: 'deleted' }));
    const all = await readChanges(project, 8);
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    for (const limit of ['1', '2', '3', '8']) assert.deepEqual(await readChanges(project, 8, { limit }), all);
    for (const [index, { id }] of all.entries()) {
      const page = await changesPage(project, { after: id, limit: '3' });
      assert.deepEqual(page.changes, all.slice(index + 1, index + 4));
      assert.equal(page.more, index + 4 < all.length);
    }
  });

  test('after=latest answers no changes and the newest position, from which nothing is missed', async () => {
    const project = await server.project();
    const { changes, next, more } = await changesPage(project, { after: 'latest' });
    assert.deepEqual({ changes, more }, { changes: [], more: false });
    await project.seedUsers('ada');
    const [change] = await readChanges(project, 1, { after: next });
    assert.equal(change?.type, 'user.created');
    const latest = await changesPage(project, { after: 'latest' });
    assert.deepEqual(await changesPage(project, { after: latest.next }), latest);
  });

  test('filters show only the changes of that type, group, user, actor and request_id', async () => {
    const project = await server.projectWithUsers('ada', 'bob');
    expectDone(await project.put('/v1/groups/g', { name: 'G', members: ['ada', 'bob'] }));
    expectDone(await project.put('/v1/users/ada', { name: 'A' }, { 'x-request-id': 'r2' }));
    expectDone(await project.post('/v1/groups/g/members', { remove: ['bob'] }));
    const all = await readChanges(project, 6);
    const types = async (query: Record<string, string>) =>
      (await changesPage(project, query)).changes.map(({ type }) => type);
    assert.deepEqual(await types({ type: 'member.*' }), ['member.added', 'member.removed']);
    const several = await types({ type: 'user.updated,member.removed' });
    assert.deepEqual(several, ['user.updated', 'member.removed']);
    assert.deepEqual(await types({ group: 'g' }), ['group.created', 'member.added', 'member.removed']);
    assert.deepEqual(await types({ user: 'bob' }), ['user.created', 'member.added', 'member.removed']);
    assert.deepEqual(await types({ request_id: 'r2' }), ['user.updated']);
    assert.equal((await types({ actor: `project_token:${project.id}` })).length, all.length);
    assert.equal((await types({ actor: 'project_token' })).length, all.length);
    const none = await changesPage(project, { actor: 'command_line' });
    assert.deepEqual(none, { changes: [], next: all.at(-1)?.id, more: false });
  });

  test('a wrong parameter of changes is rejected with invalid_field', async () => {
    const project = await server.project();
    const wrong = ['after=1', 'limit=0', 'limit=10001', 'type=nothing', 'type=*', 'actor=someone'];
    const noRequest = ['request_id=a%20b', `request_id=${'r'.repeat(129)}`];
    const empty = ['after', 'limit', 'type', 'group', 'user', 'actor', 'request_id'].map(
      (name) => `${name}=`,
    );
    for (const query of [...wrong, ...noRequest, ...empty])
      expectError(await project.get(`/v1/changes?${query}`), 400, 'invalid_field');
    expectError(await project.get('/v1/changes?token=x'), 400, 'unexpected_field');
    const accept = { accept: 'text/event-stream' };
    expectError(await project.get('/v1/changes?limit=5', accept), 400, 'invalid_field');
  });

  test('a position ahead of the newest, or of another project, is 410 invalid_request', async () => {
    const [project, other] = [await server.project(), await server.project()];
    await project.seedUsers('ada');
    await readChanges(project, 1);
    const { next } = await changesPage(project);
    const ahead = next.replace(/-\d+-\d+$/, '-99-0');
    // The only record has one change: there is no position within it, nor after it.
    const within = next.replace(/-\d+-\d+$/, '-0-1');
    for (const after of [ahead, within, next.replace(/\d+$/, '1')]) {
      expectError(await project.get(`/v1/changes?after=${after}`), 410, 'invalid_request');
      using reader = await StreamReader.open(project, `/v1/changes?after=${after}`);
      assert.equal(reader.status, 410);
    }
    expectError(await other.get(`/v1/changes?after=${next}`), 410, 'invalid_request');
  });
});

describe('the stream of changes', () => {
  test('a stream of changes has what was recorded and then what is, with the positions of the pages', async () => {
    const project = await server.projectWithUsers('ada');
    using reader = await StreamReader.open(project, '/v1/changes');
    await reader.until('the first change', () => reader.events.length === 1);
    expectDone(await project.put('/v1/groups/g', { name: 'G', members: ['ada'] }));
    await reader.until('three changes', () => reader.events.length === 3);
    const all = await readChanges(project, 3);
    assert.deepEqual(
      reader.events.map(({ type, id, data }) => ({ type, id, data })),
      all.map((change) => ({ type: change.type, id: change.id, data: change })),
    );
  });

  test('Last-Event-ID resumes a stream of changes and goes before after', async () => {
    const project = await server.project();
    using first = await StreamReader.open(project, '/v1/changes?after=latest');
    await project.seedUsers('ada', 'bob');
    await first.until('two changes', () => first.events.length === 2);
    first.close();
    await project.seedUsers('cid');
    const headers = { 'last-event-id': String(first.events[0]?.id) };
    using second = await StreamReader.open(project, '/v1/changes?after=latest', headers);
    await second.until('two changes', () => second.events.length === 2);
    assert.deepEqual(
      second.events.map(({ data }) => data.user),
      ['bob', 'cid'],
    );
    expectError(
      await project.get('/v1/changes', { accept: 'text/event-stream', 'last-event-id': 'other-1' }),
      410,
      'invalid_request',
    );
  });

  test('an empty Last-Event-ID is none: the stream of changes begins at after', async () => {
    const project = await server.project();
    await project.seedUsers('ada');
    const [first] = await readChanges(project, 1);
    await project.seedUsers('bob');
    using reader = await StreamReader.open(project, `/v1/changes?after=${first?.id}`, {
      'last-event-id': '',
    });
    assert.equal(reader.status, 200);
    await reader.until('a change', () => reader.events.length === 1);
    assert.equal(reader.events[0]?.data.user, 'bob');
  });

  test('a stream of changes begins with its position, so that a reader without events resumes there', async () => {
    const project = await server.project();
    using reader = await StreamReader.open(project, '/v1/changes?after=latest');
    const { next } = await changesPage(project, { after: 'latest' });
    await reader.until('a position', () => reader.text.includes(`id: ${next}\n`));
  });

  test('a filtered stream of changes shows only the changes that match its filter', async () => {
    const project = await server.project();
    using reader = await StreamReader.open(project, '/v1/changes?type=group.*');
    await project.seedUsers('ada');
    expectDone(await project.put('/v1/groups/g', { name: 'G', members: ['ada'] }));
    expectDone(await project.delete('/v1/groups/g'));
    await reader.until('two changes', () => reader.events.length === 2);
    assert.deepEqual(
      reader.events.map(({ type }) => type),
      ['group.created', 'group.removed'],
    );
  });

  test('a stream of changes ends when its project is deleted', async () => {
    const project = await server.project();
    using reader = await StreamReader.open(project, '/v1/changes');
    const headers = { authorization: `Bearer ${server.customerToken()}` };
    expectOk(await project.delete(`/v1/projects/${project.id}`, headers));
    await reader.ended();
    assert.equal(reader.of('error')[0]?.data.error, 'project_not_found');
  });

  test('a reader of changes that pauses gets every change once when it reads on', async () => {
    const project = await server.project();
    using reader = await StreamReader.open(project, '/v1/changes');
    reader.pause();
    const ids = Array.from({ length: 9_000 }, (_, index) => `${'u'.repeat(100)}${index}`);
    await project.seedUsers(...ids);
    reader.resume();
    await reader.until('all changes', () => reader.events.length >= ids.length);
    assert.deepEqual(reader.events.map(({ data }) => data.user).sort(), ids.toSorted());
  });
});
