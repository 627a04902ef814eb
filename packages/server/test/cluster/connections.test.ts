/** Connections with streams on two processes, of which one is killed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startCluster } from '../../../../cluster/start-cluster.ts';
import { Browser } from '../support/browser.ts';
import { expectDone } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';
import { createProject, KNOWN, showFailures, skip, withSharedServers } from './cluster-case.ts';

/** Presence without a release lasts longer than this test. */
const TTL_SECONDS = 600;

/** A presence stream of a page, which holds its connection open. */
const openStream = async (project: Project, userId: string, connectionID: string) => {
  const { token } = Browser.of(project, userId);
  const query = new URLSearchParams({ groupID: 'g', connectionID });
  const reader = await StreamReader.open({ url: project.url, token }, `/v1/client/presence?${query}`);
  await reader.snapshot();
  return reader;
};

const streamsOf = async ({ url }: Project) => {
  const { text } = await send(url, 'GET', '/metrics');
  return Number(/^rollcall_presence_streams (\d+)$/m.exec(text)?.[1]);
};

describe('connections on two processes', { skip }, () => {
  test('what a connectionID held ends with one departed event although the process that released it is killed, and stays while another process has its stream', () =>
    withSharedServers(async (servers) => {
      const settings = { ...KNOWN, ROLLCALL_PRESENCE_TTL_SECONDS: `${TTL_SECONDS}` };
      const options = { processes: 2, port: 0, ...servers, settings, onLine: showFailures };
      await using cluster = await startCluster(options);
      const [doomed, other] = cluster.nodes;
      const projects = await createProject([doomed?.url as string, other?.url as string]);
      const [first, second] = projects as [Project, Project];
      await first.seedGroup('g', 'closed', 'stays', 'last');
      using watcher = await StreamReader.open(second, '/v1/groups/g/presence');
      await watcher.snapshot();
      using _staying = await openStream(second, 'stays', 'page');
      const closing = [
        { userId: 'stays', connectionID: 'page' },
        { userId: 'closed', connectionID: 'tab' },
      ];
      const readers: StreamReader[] = [];
      for (const { userId, connectionID } of closing) {
        readers.push(await openStream(first, userId, connectionID));
        expectDone(await Browser.of(first, userId).putPresence({ groupID: 'g', connectionID }));
      }
      // One after the other, so that the release of the first comes due first.
      for (const [index, reader] of readers.entries()) {
        const left = readers.length - index - 1;
        reader.close();
        await until('the end of the stream', async () => (await streamsOf(first)) === left);
      }
      // The releases came before this reading.
      await new Presence(first).everyone();
      doomed?.process.signal('SIGKILL');

      await watcher.changes(3);
      await new Presence(second).set('last', { page: '2' });
      const received = (await watcher.changes(4)).map(({ type, data }) => `${type} ${data.id}`);
      assert.deepEqual(received, ['arrived stays', 'arrived closed', 'departed closed', 'arrived last']);
      assert.deepEqual(Object.keys(await new Presence(second).ephemeral()), ['last', 'stays']);
      for (const project of projects) project.close();
    }));
});
