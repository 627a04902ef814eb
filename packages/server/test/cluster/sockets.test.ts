/** Sockets on several processes, of which one is killed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startCluster } from '../../../../cluster/start-cluster.ts';
import { expectOk } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';
import { SocketClient } from '../support/socket-client.ts';
import { createProject, KNOWN, showFailures, skip, withSharedServers } from './cluster-case.ts';

const TTL_SECONDS = 3;
const AT = { page: '1' };
const THERE = { page: '2' };
/** Longer than the names of regions in Redis. */
const REGION = { page: 'q3-report', section: 'what was sold in the third quarter' };
const at = (paragraph: string) => ({ location: { ...REGION, paragraph }, exclusiveWithin: REGION });

describe('sockets on two processes', { skip }, () => {
  test('presence that a socket holds is seen on both processes, and ends once: when its socket closes, or its process is killed', () =>
    withSharedServers(async (servers) => {
      const settings = { ...KNOWN, ROLLCALL_PRESENCE_TTL_SECONDS: `${TTL_SECONDS}` };
      const options = { processes: 2, port: 0, ...servers, settings, onLine: showFailures };
      await using cluster = await startCluster(options);
      const [doomed, other] = cluster.nodes;
      const projects = await createProject([doomed?.url as string, other?.url as string]);
      const [first, second] = projects as [(typeof projects)[number], (typeof projects)[number]];
      await first.seedGroup('g', 'a', 'b', 'c');
      using watcher = await SocketClient.of(second, 'c', 'g');
      await watcher.ok('watch');
      await watcher.event('snapshot');
      using clean = await SocketClient.of(first, 'a', 'g');
      await clean.ok('present', { location: AT });
      assert.equal((await watcher.event('arrived')).data.id, 'a');
      clean.ws.close();
      assert.equal((await watcher.event('departed')).data.reason, 'absent');

      // The page moves to the other process, and nobody sees it leave.
      const page = { connectionID: 'page-1' };
      using before = await SocketClient.of(first, 'b', 'g', page);
      await before.ok('present', { location: THERE });
      assert.equal((await watcher.event('arrived')).data.id, 'b');
      before.ws.terminate();
      using after = await SocketClient.of(second, 'b', 'g', page);
      await after.ok('present', { location: THERE });

      using lost = await SocketClient.of(first, 'a', 'g');
      await lost.ok('present', { location: AT });
      assert.equal((await watcher.event('arrived')).data.id, 'a');
      doomed?.process.signal('SIGKILL');
      const departed = await watcher.event('departed');
      assert.deepEqual([departed.data.id, departed.data.reason], ['a', 'expired']);
      await after.ok('present', { location: AT });
      assert.equal((await watcher.event('arrived')).data.id, 'b', 'nobody else has left');
      for (const project of projects) project.close();
    }));

  test('a connectionID that is back on another process within 2 seconds has what it held after a break, a stop or a kill, and no reader sees a departure', () =>
    withSharedServers(async (servers) => {
      const settings = { ...KNOWN, ROLLCALL_PRESENCE_TTL_SECONDS: `${TTL_SECONDS}` };
      const options = { processes: 3, port: 0, ...servers, settings, onLine: showFailures };
      await using cluster = await startCluster(options);
      const projects = await createProject(cluster.nodes.map(({ url }) => url));
      const [stays, killed, stopped] = projects as [Project, Project, Project];
      await stays.seedGroup('g', 'a', 'b', 'c', 'host', 'watcher');
      await stays.seedGroup('other', 'a');
      using watcher = await SocketClient.of(stays, 'watcher', 'g');
      await watcher.ok('watch', { expand: 'data' });
      await watcher.event('snapshot');

      const page = (userId: string) => ({ connectionID: `page of ${userId}`.replaceAll(' ', '-') });
      const pages = [
        { userId: 'a', first: killed, end: (socket: SocketClient) => socket.ws.terminate() },
        { userId: 'b', first: killed, end: () => cluster.nodes[1]?.process.signal('SIGKILL') },
        { userId: 'c', first: stopped, end: () => cluster.nodes[2]?.process.signal('SIGTERM') },
      ];
      const back: SocketClient[] = [];
      for (const { userId, first, end } of pages) {
        // A token for all groups of the user.
        using before = await SocketClient.of(first, userId, undefined, page(userId));
        await before.ok('present', { groupID: 'g', ...at('1'), data: { of: userId } });
        assert.equal((await watcher.event('arrived')).data.id, userId);
        await watcher.event('data');
        end(before);
        await before.closed();
        back.push(await SocketClient.of(stays, userId, undefined, page(userId)));
      }
      // When this one has expired, so have the leases of the processes that ended.
      expectOk(await stays.put('/v1/users/host/presence', { groupID: 'g', location: AT }));
      assert.equal((await watcher.event('arrived')).data.id, 'host');
      assert.equal((await watcher.event('departed')).data.id, 'host', 'and nobody else');

      // The other region has a name alone, and it is the same hold.
      const [moving, absent, closing] = back as [SocketClient, SocketClient, SocketClient];
      await moving.ok('present', { groupID: 'g', ...at('2') });
      assert.deepEqual((await watcher.event('arrived')).data.from, at('1').location);
      assert.deepEqual((await watcher.event('data')).data.data, { of: 'a' });
      await absent.ok('absent', { groupID: 'g', location: at('1').location });
      assert.equal((await watcher.event('departed')).data.id, 'b');
      closing.ws.close();
      const left = (await watcher.event('departed')).data;
      assert.deepEqual([left.id, left.reason], ['c', 'absent']);
      moving.ws.close();
      assert.equal((await watcher.event('departed')).data.id, 'a');
      for (const socket of back) socket.ws.terminate();
      for (const project of projects) project.close();
    }));
});
