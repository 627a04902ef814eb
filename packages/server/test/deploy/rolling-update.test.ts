/** A rolling update as Kubernetes makes it: a new process is ready before an old one gets SIGTERM, and nobody notices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RollcallProcess } from '../../../../cluster/rollcall-process.ts';
import { startProcesses } from '../../../../cluster/start-cluster.ts';
import {
  createProject,
  KNOWN,
  type SharedServers,
  showFailures,
  skip as skipsServers,
  withSharedServers,
} from '../cluster/cluster-case.ts';
import { skipsHaproxy } from '../support/own-haproxy.ts';
import type { Project } from '../support/project-client.ts';
import { RollingHaproxy, type Slot } from './rolling-haproxy.ts';
import { ReconnectingSocket, RequestLoad, ResumingReader } from './rolling-load.ts';

/** The readiness probe of the manifests. */
const READINESS = '/readyz?exclude=presence&exclude=broker';
/** Requests between two steps. */
const BETWEEN = 200;
const HOSTS = 6;
const SOCKETS = 4;

/** Longer than the health checks of the balancer take, whatever else runs on the machine. */
const SETTINGS = { ...KNOWN, ROLLCALL_STOP_DELAY_SECONDS: '5' };

async function startOne(servers: SharedServers): Promise<RollcallProcess> {
  const [process] = startProcesses({ ...servers, settings: SETTINGS, onLine: showFailures, processes: 1 });
  assert.ok(process !== undefined);
  await process.listening;
  return process;
}

describe('a rolling update behind a balancer', { skip: skipsServers || skipsHaproxy }, () => {
  test('a rolling update fails no request, and streams and sockets connect again and miss nothing', () =>
    withSharedServers((servers) =>
      RollingHaproxy.with(READINESS, async (balancer) => {
        await using processes = new AsyncDisposableStack();
        const start = async (slot: Slot) => {
          const process = processes.adopt(await startOne(servers), (started) => started.end('SIGKILL'));
          await balancer.add(slot, await process.listening);
          return { slot, process };
        };
        const old = [await start('a'), await start('b')];

        const urls = Array.from({ length: HOSTS }, () => balancer.url);
        const projects = await createProject(urls);
        const [project] = projects as [Project];
        const users = urls.map((_, index) => `host-${index}`);
        await project.seedGroup('g', ...users);

        let isOver = false;
        const after = await ResumingReader.now(project);
        const load = new RequestLoad(projects);
        const reader = new ResumingReader(
          project,
          after,
          (requests) => isOver && requests.length >= load.acknowledged.length,
        );
        const sockets = Array.from({ length: SOCKETS }, () => new ReconnectingSocket(project, 'host-0'));
        await load.more(BETWEEN);

        for (const [index, { slot, process }] of old.entries()) {
          const free = (['c', 'a'] as const)[index] as Slot;
          await start(free);
          await load.more(BETWEEN);
          process.signal('SIGTERM');
          assert.equal(await process.ended(), 0);
          await balancer.remove(slot);
          await load.more(BETWEEN);
        }
        await load.stop();
        isOver = true;
        await reader.finished();
        await Promise.all(sockets.map((socket) => socket.stop()));
        for (const each of projects) each.close();

        assert.deepEqual(load.failures, []);
        assert.deepEqual(reader.requests.toSorted(), load.acknowledged.toSorted());
        const closes = sockets.flatMap((socket) => socket.closes);
        assert.ok(closes.length >= SOCKETS, 'every socket was on an old process at first');
        assert.deepEqual(new Set(closes), new Set([4409]));
        assert.ok(reader.opened >= 2, 'the stream was on an old process at first');
      }),
    ));
});
