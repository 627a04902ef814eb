import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectDone } from '../support/expect.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { oneCluster, skip, until } from './cluster-case.ts';
import { EventReader, type StreamEvent } from './event-reader.ts';

const STREAM = '/v1/groups/g/presence';
const USERS = ['ada', 'bob', 'cyd', 'dan'];
const CHANGES_EACH = 10;

/** What a reader was told after its snapshot. */
const told = (reader: EventReader) => reader.events.filter(({ type }) => type !== 'snapshot');
const byOffset = ({ type, id, data }: StreamEvent) => JSON.stringify([id, type, data]);

describe('streams on several processes', { skip }, () => {
  // Each change is told by itself: merging them is a matter of each process's load.
  const cluster = oneCluster(3, { ROLLCALL_PRESENCE_MERGE_MS: '0' });

  async function seeded(): Promise<Project[]> {
    const projects = await cluster.project();
    await projects[0]?.seed({
      users: USERS.map((id) => ({ id })),
      groups: [{ id: 'g', name: 'G', members: USERS }],
    });
    return projects;
  }

  async function withReaders(
    projects: readonly Project[],
    use: (readers: readonly EventReader[]) => Promise<void>,
  ): Promise<void> {
    const readers = projects.map((project) => new EventReader(project, STREAM));
    try {
      await until('the snapshots', () => readers.every((reader) => reader.of('snapshot').length === 1));
      await use(readers);
    } finally {
      for (const reader of readers) reader.close();
    }
  }

  test('are told the same in the same order, whoever changes it where', async () => {
    const projects = await seeded();
    await withReaders(projects, async (readers) => {
      const changes = USERS.map(async (user, index) => {
        const presence = new Presence(projects[index % projects.length] as Project);
        for (let step = 0; step < CHANGES_EACH; step += 1) {
          await presence.set(
            user,
            { page: 'intro', paragraph: `${step}` },
            { exclusiveWithin: { page: 'intro' } },
          );
        }
      });
      await Promise.all(changes);
      const all = USERS.length * CHANGES_EACH;
      await until('all changes', () => readers.every((reader) => told(reader).length >= all));
      const [first, ...others] = readers.map((reader) => told(reader).map(byOffset));
      assert.equal(first?.length, all);
      for (const other of others) assert.deepEqual(other, first);
    });
  });

  test('tell of users set deleted and of members removed on another process', async () => {
    const projects = await seeded();
    const [here, there] = projects as [Project, Project];
    await withReaders(projects, async (readers) => {
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
  });

  test('go on at another process where they were at the first', async () => {
    const projects = await seeded();
    const [here, there] = projects as [Project, Project];
    const presence = new Presence(here);
    await withReaders([here], async ([reader]) => {
      assert.ok(reader !== undefined);
      await presence.set('ada', { page: 'intro' });
      await until('an arrival', () => reader.of('arrived').length === 1);
      const last = reader.events.at(-1)?.id;
      reader.close();
      await presence.set('bob', { page: 'intro' });
      const next = new EventReader(there, STREAM, last);
      try {
        await until('what was missed', () => next.events.length > 0);
        assert.deepEqual(
          next.events.map(({ type, data }) => `${type} ${data.id}`),
          ['arrived bob'],
        );
      } finally {
        next.close();
      }
    });
  });
});
