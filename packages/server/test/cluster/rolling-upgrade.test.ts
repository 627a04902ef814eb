/** An upgrade of one process after the other: two versions run on the same servers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { type ClusterNode, startCluster, startProcesses } from '../../../../cluster/start-cluster.ts';
import type { GroupEvent } from '../../src/presence/presence-store.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { parseRedisUrl } from '../../src/redis/redis-url.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { closing } from '../support/closing.ts';
import { withClient } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';
import {
  createProject,
  KNOWN,
  type SharedServers,
  showFailures,
  skip,
  withinASecond,
  withSharedServers,
} from './cluster-case.ts';
import { makeNextVersion, NEXT_SCHEMA_VERSION } from './next-version.ts';

const STREAM = '/v1/groups/g/presence';

/** A migration that adds only, so that processes of the version before can run beside it. */
const MIGRATION = `
  ALTER TABLE users ADD COLUMN nick TEXT NOT NULL DEFAULT 'none';
  ALTER TABLE memberships ADD COLUMN since TIMESTAMPTZ DEFAULT now();
  ALTER TABLE groups ADD COLUMN topic TEXT;
  ALTER TABLE projects ADD COLUMN region TEXT NOT NULL DEFAULT 'eu';
  ALTER TABLE sessions ADD COLUMN device TEXT;
  CREATE INDEX users_by_nick ON users (project_id, nick);
  CREATE TABLE badges (project_id UUID NOT NULL, id TEXT NOT NULL, PRIMARY KEY (project_id, id));
`;

const options = (servers: SharedServers) => ({ ...servers, settings: KNOWN, onLine: showFailures });

const projectsOf = (nodes: readonly ClusterNode[]) => createProject(nodes.map(({ url }) => url));

async function seed(project: Project | undefined): Promise<void> {
  const users = [{ id: 'ann' }, { id: 'bob' }];
  await project?.seed({ users, groups: [{ id: 'g', name: 'G', members: ['ann', 'bob'] }] });
}

/** The requests of a host, one after the other; returns the answers that are errors. */
async function sendRequests(project: Project, isOver: () => boolean): Promise<string[]> {
  const failures: string[] = [];
  const presence = new Presence(project);
  for (let round = 0; !isOver(); round += 1) {
    const answers = [
      await project.put(`/v1/users/u${round % 7}`, { name: `U${round}` }),
      await project.put('/v1/groups/g', { name: `G${round}`, members: ['ann', 'bob'] }),
      await project.post('/v1/batch', { users: [{ id: 'ann', name: `Ann ${round}` }] }),
      await presence.put('ann', { location: { page: `${round}` }, durable: round % 2 === 0 }),
      await project.get('/v1/groups/g/presence'),
      await project.get('/v1/groups/g/members'),
    ];
    failures.push(...answers.filter(({ status }) => status >= 300).map(({ text }) => text));
  }
  return failures;
}

describe('an upgrade, one process after the other', { skip }, () => {
  test('processes of the older version continue during and after the migration, without a restart', () =>
    withSharedServers((servers) =>
      withDataDir(async (directory) => {
        await using old = await startCluster({ ...options(servers), processes: 2, port: 0 });
        const projects = await projectsOf(old.nodes);
        await seed(projects[0]);
        let isOver = false;
        const hostErrors = Promise.all(
          [...projects, ...projects].map((project) => sendRequests(project, () => isOver)),
        );
        const launcher = makeNextVersion(directory, MIGRATION);
        await using newer = await startCluster({ ...options(servers), launcher, processes: 2, port: 0 });
        const version = await withClient(servers.databaseUrl, (client) =>
          client.query('SELECT max(number)::int AS version FROM schema_migrations'),
        );
        assert.equal(version.rows[0].version, NEXT_SCHEMA_VERSION);
        await assertDataIsShared(projects, newer.nodes);
        isOver = true;
        assert.deepEqual(await hostErrors, [[], [], [], []]);
        const [older] = startProcesses({ ...options(servers), onLine: () => {}, processes: 1 });
        assert.equal(await older?.ended(), 1);
        assert.match(`${older?.printed}`, /schema version \d+ and this version of Rollcall knows/);
      }),
    ));

  test('a migration waits for a long write that is under way', () =>
    withSharedServers((servers) =>
      withDataDir(async (directory) => {
        await using old = await startCluster({ ...options(servers), processes: 1, port: 0 });
        const [project] = (await projectsOf(old.nodes)) as [Project];
        await seed(project);
        const launcher = makeNextVersion(directory, MIGRATION);
        await withClient(servers.databaseUrl, async (writer) => {
          // The default of PostgreSQL; databases of tests have a shorter one.
          await writer.query(`SET deadlock_timeout = '1s'`);
          await writer.query('BEGIN');
          await writer.query('LOCK TABLE groups IN ROW EXCLUSIVE MODE');
          const [newer] = startProcesses({ ...options(servers), launcher, processes: 1 });
          assert.ok(newer !== undefined);
          try {
            await until('the migration has locked the users and waits for the groups', () =>
              isLockAwaited(servers, 'groups'),
            );
            await writer.query('UPDATE users SET name = name');
            assert.equal((await project.put('/v1/groups/g', { name: 'meanwhile' })).status, 200);
            await writer.query('COMMIT');
            await newer.listening;
          } finally {
            await newer.end();
          }
        });
      }),
    ));

  test('an unknown event of a newer version does not end a subscription', () =>
    withSharedServers(async (servers) => {
      await using cluster = await startCluster({ ...options(servers), processes: 2, port: 0 });
      const [here, there] = (await projectsOf(cluster.nodes)) as [Project, Project];
      await seed(here);
      using reader = await StreamReader.open(there, STREAM);
      const { id } = await reader.snapshot();
      await publishUnknown(servers, here.id);
      await new Presence(here).set('ann', { page: 'after' });
      const hasAll = ({ events }: StreamReader) => JSON.stringify(events).includes('after');
      await until('a reader has the event after it', () => hasAll(reader));
      using resumed = await StreamReader.open(there, STREAM, { 'last-event-id': id });
      await until('a resumed reader has both events', () => hasAll(resumed));
      await here.put('/v1/users/ann', { status: 'deleted' });
      await withinASecond('ann is away', async () => (await new Presence(there).everyone()).length === 0);
      await until('the departure is published', () => reader.of('departed').length > 0);
    }));
});

/** Whether a migration waits for its lock on the table. */
async function isLockAwaited({ databaseUrl }: SharedServers, table: string): Promise<boolean> {
  const waiting = `SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted AND relation = $1::regclass`;
  return withClient(databaseUrl, async (client) => (await client.query(waiting, [table])).rowCount === 1);
}

/** Checks that each version reads the writes of the other. */
async function assertDataIsShared(old: readonly Project[], newer: readonly ClusterNode[]): Promise<void> {
  const [first] = old as [Project, Project];
  const [node] = newer as [ClusterNode];
  await using fromNewer = closing(new Project(node.url, first.id, first.secret, first.token));
  await new Presence(first).set('bob', { page: 'old' });
  assert.deepEqual((await new Presence(fromNewer).ephemeral()).bob, [{ page: 'old' }]);
  await new Presence(fromNewer).set('bob', { page: 'new' });
  const locations = (await new Presence(first).ephemeral()).bob ?? [];
  assert.ok(locations.some(({ page }) => page === 'new'));
  assert.equal((await fromNewer.put('/v1/users/cid', { name: 'Cid' })).status, 200);
  assert.equal((await first.get('/v1/users/cid')).status, 200);
}

/** Publishes a change and a group's event of unknown kinds. */
async function publishUnknown({ databaseUrl, redisUrl }: SharedServers, projectId: string): Promise<void> {
  await using store = closing(await openPostgresStore({ url: databaseUrl }));
  await using presence = closing(await openRedisPresence({ url: redisUrl }));
  using opened = new DisposableStack();
  const redis = opened.adopt(new Redis(redisUrl), (client) => client.disconnect());
  const project = await store.projects.find(projectId);
  assert.ok(project !== null);
  const event = { type: 'waved', userIds: ['ann'], at: { x: 1 } };
  await presence.publish({ project: project.key, groupId: 'g' }, event as unknown as GroupEvent, Date.now());
  const { prefix, db } = parseRedisUrl(redisUrl);
  const message = JSON.stringify({ publisher: 'newer', change: { type: 'party', guests: [1] } });
  assert.equal(await redis.publish(`${prefix}:${db}:{changes}`, message), 2);
}
