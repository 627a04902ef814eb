/**
 * The master of a Redis with sentinels dies together with one of them, and with writes that its replica does not have. Two
 * Rollcall processes go on with the replica: what was lost is set again by its holders, and every stream shows what is stored.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type ClusterNode, startCluster } from '../../../../cluster/start-cluster.ts';
import { createProject, KNOWN, skip, withSharedServers } from '../cluster/cluster-case.ts';
import { ReaderModel } from '../realtime/reader-model.ts';
import { expectError, expectOk } from '../support/expect.ts';
import { skipsOwnRedis } from '../support/own-redis.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import {
  disconnectReplica,
  isReplicaPromoted,
  startSentinelPair,
  untilReplicated,
} from '../support/redis-sentinels.ts';
import { SocketClient } from '../support/socket-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const STREAM = '/v1/groups/g/presence';
const USERS = ['ann', 'bob', 'cyd', 'dan', 'eve'];
const AT = { page: '1' };
const THERE = { page: '2' };
/** From the moment when the replica is the master to presence that every process can set. */
const RECOVERY_MAX_MS = 5_000;

const shownBy = ({ events }: StreamReader) => ReaderModel.of(events).entries();

/** Waits until each stream shows what each process reads. */
async function untilTrue(streams: readonly StreamReader[], presences: readonly Presence[]): Promise<void> {
  for (const presence of presences) {
    const isShown = async () => {
      const { users } = await presence.page({});
      return streams.every((stream) => isDeepStrictEqual(shownBy(stream), users));
    };
    await until('all streams show what is stored', isShown);
  }
}

describe('a failover of Redis with sentinels', { skip: skip || skipsOwnRedis }, () => {
  test('after a failover that lost writes, presence is set again and every stream shows what is stored', async (t) => {
    const pair = await startSentinelPair();
    const failures: string[] = [];
    const onLine = (line: string) => {
      if (/^\{"level":(?:50|60)|^rollcall: /.test(line)) failures.push(line);
    };
    await withSharedServers(async ({ databaseUrl }) => {
      const options = { processes: 2, port: 0, databaseUrl, redisUrl: pair.url, settings: KNOWN, onLine };
      await using cluster = await startCluster(options);
      const projects = (await createProject(cluster.nodes.map(({ url }) => url))) as [Project, Project];
      const presences = projects.map((project) => new Presence(project)) as [Presence, Presence];
      const [one, other] = presences;
      await one.project.seedGroup('g', ...USERS);
      const streams = await Promise.all(projects.map((project) => StreamReader.open(project, STREAM)));
      for (const stream of streams) await stream.snapshot();
      await one.set('ann', AT);
      await other.set('bob', AT);
      await untilTrue(streams, presences);

      await untilReplicated(pair);
      await disconnectReplica(pair);
      // These writes are acknowledged and shown, and the replica never has them.
      using socket = await SocketClient.of(one.project, 'eve', 'g');
      await socket.ok('present', { location: AT });
      await one.set('cyd', AT);
      await other.setAbsent('bob', AT);
      await untilTrue(streams, presences);
      const [{ parser }] = streams as [StreamReader];
      const { lastEventId } = parser;

      await Promise.all([pair.master.stop(), pair.sentinels[0]?.stop()]);
      expectError(await one.put('dan', { location: AT }), 503, 'error');
      expectOk(await one.project.get('/v1/users/ann'));
      await one.set('ann', THERE, { durable: true });
      await until('the sentinels make the replica the master', () => isReplicaPromoted(pair));
      const promotedAt = performance.now();
      const recovering = presences.map(async (presence, index) => {
        const isSet = async () => (await presence.put('dan', { location: AT })).status === 200;
        await until('presence can be set', isSet, RECOVERY_MAX_MS);
        t.diagnostic(
          `process ${index + 1}: ${Math.round(performance.now() - promotedAt)} ms after the replica became the master`,
        );
      });
      await Promise.all(recovering);

      // What a client holds by requests is there again with its next update; what a socket holds, with no request at all.
      await untilTrue(streams, presences);
      const ids = async () => Object.keys(await other.ephemeral());
      assert.ok((await ids()).includes('bob'), 'his departure was lost');
      assert.ok(!(await ids()).includes('cyd'), 'her arrival was lost');
      await one.set('cyd', THERE);
      await other.setAbsent('bob', AT);
      await until('the socket has set what it holds', async () => (await ids()).includes('eve'));
      assert.deepEqual(await ids(), ['ann', 'cyd', 'dan', 'eve']);
      assert.equal(socket.close, null);

      // Other events have the numbers of those that were lost. A process that has read none of them notices it too.
      await using late = await startCluster({ ...options, processes: 1 });
      const [{ url }] = late.nodes as [ClusterNode];
      for (const project of [
        ...projects,
        new Project(url, one.project.id, one.project.secret, one.project.token),
      ]) {
        const resumed = await StreamReader.open(project, STREAM, { 'last-event-id': lastEventId });
        await resumed.snapshot();
        streams.push(resumed);
      }
      await untilTrue(streams, presences);
      for (const stream of streams) {
        assert.equal(stream.hasEnded, false);
        stream.close();
      }
      await late.stop();
      for (const line of failures) assert.match(line, /"StoreUnavailableError"/, line);
      for (const project of projects) project.close();
    });
  });
});
