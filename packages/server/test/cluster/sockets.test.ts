/** Sockets on several processes, of which one is killed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startCluster } from '../../../../cluster/start-cluster.ts';
import { SocketClient } from '../support/socket-client.ts';
import { createProject, KNOWN, showFailures, skip, withSharedServers } from './cluster-case.ts';

const TTL_SECONDS = 3;
const AT = { page: '1' };
const THERE = { page: '2' };

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
});
