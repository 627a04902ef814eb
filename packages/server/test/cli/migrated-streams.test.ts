/** Readers of streams after migrate-store: positions of the other store are none of this one, however much is written. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { expectDone } from '../support/expect.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { withDataDir, withServer } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { rollcallOk } from './cli-process.ts';
import { flagsOf } from './stores.ts';

const skip = skipsPostgres || (await skipsRedis());
const STREAMS = ['/v1/threads/t/messages', '/v1/groups/g/presence'];

async function write(project: Project, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1)
    expectDone(
      await project.put(`/v1/threads/t/messages/${number}`, { authorID: 'ann', content: [{ text: 'x' }] }),
    );
}

/** The first event of each stream, and the ID after which its reader resumes. */
async function firstEvents(project: Project, after: readonly (string | null)[]) {
  const first: { type: string | undefined; id: string | null }[] = [];
  for (const [index, path] of STREAMS.entries()) {
    const id = after[index];
    using reader = await StreamReader.open(
      project,
      path,
      typeof id === 'string' ? { 'last-event-id': id } : {},
    );
    await reader.until('the first event', () => reader.events.length > 0);
    first.push({ type: reader.events[0]?.type, id: reader.parser.lastEventId });
  }
  return first;
}

describe('streams after rollcall migrate-store', { skip }, () => {
  test('readers who resume with a Last-Event-ID of the other store get a snapshot, also with its Redis', () =>
    withDataDir((directory) =>
      withDatabase((fromUrl) =>
        withDatabase(async (toUrl) => {
          const redisUrl = freshRedisUrl();
          const from = { dataDir: join(directory, 'none'), databaseUrl: fromUrl };
          const to = { dataDir: join(directory, 'none'), databaseUrl: toUrl };
          const at = (databaseUrl: string, use: (project: Project) => Promise<void>) =>
            withServer({ settings: { databaseUrl, redisUrl } }, async (server) => {
              const project = Project.of(server);
              await use(project);
              project.close();
            });
          let positions: (string | null)[] = [];
          await at(fromUrl, async (project) => {
            await project.seed({
              users: [{ id: 'ann' }],
              groups: [{ id: 'g', name: 'G', members: ['ann'] }],
            });
            expectDone(await project.put('/v1/threads/t', { groupID: 'g', name: 'T' }));
            await write(project, 3);
            await new Presence(project).set('ann', { page: '1' });
            positions = (await firstEvents(project, [])).map(({ id }) => id);
          });
          await rollcallOk(['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to), '--quiet']);
          await at(toUrl, async (project) => {
            await write(project, 9);
            const resumed = await firstEvents(project, positions);
            assert.deepEqual(
              resumed.map(({ type }) => type),
              ['snapshot', 'snapshot'],
            );
          });
        }),
      ),
    ));
});
