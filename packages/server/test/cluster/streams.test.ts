import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StreamEvent } from '../support/event-parser.ts';
import { expectDone } from '../support/expect.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';
import { oneCluster, skip } from './cluster-case.ts';

const STREAM = '/v1/groups/g/presence';
const USERS = ['ada', 'bob', 'cyd', 'dan'];
const CHANGES_EACH = 10;

const byOffset = ({ type, id, data }: StreamEvent) => JSON.stringify([id, type, data]);

describe('streams on several processes', { skip }, () => {
  // Each change is sent by itself: merging depends on the load of each process.
  const cluster = oneCluster(3, { ROLLCALL_PRESENCE_MERGE_MS: '0' });

  async function seeded(): Promise<Project[]> {
    const projects = await cluster.project();
    await projects[0]?.seedGroup('g', ...USERS);
    return projects;
  }

  test('streams on all processes have the same events in the same order', async () => {
    const projects = await seeded();
    using readers = await together(projects.map((project) => StreamReader.open(project, STREAM)));
    for (const reader of readers) await reader.snapshot();
    const updates = USERS.map(async (user, index) => {
      const presence = new Presence(projects[index % projects.length] as Project);
      for (let step = 0; step < CHANGES_EACH; step += 1) {
        await presence.set(
          user,
          { page: 'intro', paragraph: `${step}` },
          { exclusiveWithin: { page: 'intro' } },
        );
      }
    });
    await Promise.all(updates);
    const all = USERS.length * CHANGES_EACH;
    const changed = await Promise.all(readers.map((reader) => reader.changes(all)));
    const [first, ...others] = changed.map((events) => events.map(byOffset));
    assert.equal(first?.length, all);
    for (const other of others) assert.deepEqual(other, first);
  });

  test('a stream has departed events for users set deleted and members removed on another process', async () => {
    const projects = await seeded();
    const [here, there] = projects as [Project, Project];
    using readers = await together(projects.map((project) => StreamReader.open(project, STREAM)));
    for (const reader of readers) await reader.snapshot();
    await new Presence(there).set('ada', { page: 'intro' });
    await new Presence(there).set('bob', { page: 'intro' });
    expectDone(await here.put('/v1/users/ada', { status: 'deleted' }));
    expectDone(await here.post('/v1/groups/g/members', { remove: ['bob'] }));
    await until('both departures', () => readers.every((reader) => reader.of('departed').length === 2));
    for (const reader of readers) {
      const departed = reader.of('departed').map(({ data }) => `${data.id} ${data.reason}`);
      assert.deepEqual(departed, ['ada removed', 'bob removed']);
    }
  });

  test('a stream resumes on another process after its Last-Event-ID', async () => {
    const projects = await seeded();
    const [here, there] = projects as [Project, Project];
    const presence = new Presence(here);
    using reader = await StreamReader.open(here, STREAM);
    await reader.snapshot();
    await presence.set('ada', { page: 'intro' });
    const [arrival] = await reader.changes(1);
    reader.close();
    await presence.set('bob', { page: 'intro' });
    using next = await StreamReader.open(there, STREAM, { 'last-event-id': arrival?.id ?? '' });
    await next.changes(1);
    assert.deepEqual(
      next.events.map(({ type, data }) => `${type} ${data.id}`),
      ['arrived bob'],
    );
  });
});
