import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { until } from '../../server/test/support/waiting.ts';
import { type Changes, changesOf, type RecordedChange } from '../src/changes/index.ts';
import { Rollcall } from '../src/index.ts';
import { rejects } from './support/rejects.ts';
import { respond, withScriptedClient } from './support/scripted-server.ts';
import { cutStream, errorEvent, SOON, stream, written } from './support/scripted-streams.ts';

const server = oneServer();
const closed = closedAfterTests();

interface Followed {
  readonly project: Project;
  readonly rollcall: Rollcall;
  readonly changes: Changes;
}

/** A project with the users a, b and c, and the group g of a. */
async function followed(): Promise<Followed> {
  const project = await server.project();
  const rollcall = closed(new Rollcall({ url: project.url, token: project.token }));
  for (const id of ['a', 'b', 'c']) await rollcall.users.put(id, { name: id });
  await rollcall.groups.put('g', { name: 'G', members: ['a'] });
  const changes = changesOf(rollcall);
  await until('all changes', async () => (await changes.page()).changes.length === 5);
  return { project, rollcall, changes };
}

const typesOf = (changes: readonly RecordedChange[]) => changes.map(({ type }) => type);

async function taken(changes: AsyncIterable<RecordedChange>, count: number): Promise<RecordedChange[]> {
  const found: RecordedChange[] = [];
  for await (const change of changes) if (found.push(change) === count) break;
  return found;
}

describe('changes of the client', () => {
  test('list has every change once, pages go on at next, and latest is the position after them', async () => {
    const { changes } = await followed();
    const all = await Array.fromAsync(changes.list());
    assert.deepEqual(typesOf(all), [
      ...['user.created', 'user.created', 'user.created', 'group.created', 'member.added'],
    ]);
    const { changes: first, next, more } = await changes.page({ limit: 2 });
    assert.deepEqual([first, more], [all.slice(0, 2), true]);
    assert.deepEqual(await Array.fromAsync(changes.list({ after: next })), all.slice(2));
    assert.equal(await changes.latest(), all.at(-1)?.id);
  });

  test('filters are those of GET /v1/changes, also of changes that are followed', async () => {
    const { changes, project } = await followed();
    const filter = { types: ['member.*', 'user.created'], user: 'a', actor: `project_token:${project.id}` };
    const expected = ['user.created', 'member.added'];
    assert.deepEqual(typesOf(await Array.fromAsync(changes.list(filter))), expected);
    assert.deepEqual(typesOf(await taken(changes.follow(filter), 2)), expected);
    assert.deepEqual(await Array.fromAsync(changes.list({ group: 'g', requestID: 'none' })), []);
  });

  test('follow yields what is stored after a position and then each new change', async () => {
    const { changes, rollcall } = await followed();
    const after = await changes.latest();
    await rollcall.users.delete('c');
    const watch = changes.follow({ after });
    const [removed] = await Array.fromAsync({ length: 1 }, async () => (await watch.next()).value);
    assert.deepEqual([removed?.type, removed?.user], ['user.removed', 'c']);
    await rollcall.groups.put('g', { name: 'New' });
    const { value: renamed } = await watch.next();
    assert.deepEqual([renamed?.type, renamed?.fields], ['group.updated', ['name']]);
    await watch.return();
  });

  test('a lost connection resumes after the last change with Last-Event-ID', () =>
    withScriptedClient(
      (request, index) => {
        const change = (id: string) => written(id, 'user.created', { id, type: 'user.created' });
        if (index === 0) return cutStream(request, `${SOON}${change('e-1-0')}`);
        stream(request, change('e-2-0'));
      },
      async (rollcall, { received }) => {
        const found = await taken(changesOf(rollcall).follow({ after: 'e-0-0' }), 2);
        assert.deepEqual(
          found.map(({ id }) => id),
          ['e-1-0', 'e-2-0'],
        );
        assert.deepEqual(
          received.map(({ url, headers }) => [url, headers['last-event-id']]),
          [
            ['/v1/changes?after=e-0-0', undefined],
            ['/v1/changes?after=e-0-0', 'e-1-0'],
          ],
        );
      },
    ));

  test('a position that is gone rejects with status 410, and so do changes that are followed from it', async () => {
    const { changes } = await followed();
    const after = 'gone-1-0';
    await rejects(changes.page({ after }), 'invalid_request', 410);
    await rejects(changes.follow({ after }).next(), 'invalid_request', 410);
  });

  test('changes that are followed end with the error that the server sends as an event', () =>
    withScriptedClient(
      (request) => stream(request, errorEvent('invalid_project_token', 'no project')),
      async (rollcall) => {
        const next = changesOf(rollcall).follow().next();
        await assert.rejects(next, { code: 'invalid_project_token', message: 'no project' });
      },
    ));

  test('users and groups are read by ID, any number of them, without those that do not exist', async () => {
    const { changes, project } = await followed();
    await project.seedUsers(...Array.from({ length: 150 }, (_, index) => `user & ${index}`));
    const ids = [...Array.from({ length: 250 }, (_, index) => `user & ${index}`), 'a', 'a', '..'];
    assert.equal((await changes.users(ids)).length, 151);
    const [group, ...others] = await changes.groups(['none', 'g']);
    assert.deepEqual([group?.id, group?.name, others], ['g', 'G', []]);
    assert.deepEqual(await changes.users([]), []);
  });

  test('users with long IDs are read in requests of at most 8 KiB, which proxies take', async () => {
    const { changes, project } = await followed();
    const ids = Array.from({ length: 20 }, (_, index) => `${'🙂'.repeat(318)}${index + 10}`);
    await project.seedUsers(...ids);
    assert.deepEqual(new Set((await changes.users(ids)).map(({ id }) => id)), new Set(ids));
    await withScriptedClient(
      (request) => respond(request, 200, { users: [] }),
      async (rollcall, { received }) => {
        await changesOf(rollcall).users([...ids, ...ids.map((id) => id.slice(0, 200))]);
        assert.deepEqual(
          received.filter(({ url }) => url.length > 8_000),
          [],
        );
        const sent = received.flatMap(({ url }) => new URL(url, 'http://a').searchParams.getAll('id'));
        assert.deepEqual(sent, [...ids, '🙂'.repeat(100)]);
      },
    );
  });
});
