/** One process is killed with SIGKILL: no acknowledged write is lost, and the other processes continue. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { type ClusterNode, startCluster } from '../../../../cluster/start-cluster.ts';
import { Lane } from '../faults/lane.ts';
import { type Call, callOf, createRegisters } from '../faults/register.ts';
import { Random } from '../sim/random.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';
import { createProject, KNOWN, showFailures, skip, withSharedServers } from './cluster-case.ts';

/** The seed chooses the moment of the kill. A failure prints it; ROLLCALL_TEST_SEED sets another. */
const SEED = Number(process.env.ROLLCALL_TEST_SEED ?? 1);
const MOST_ANSWERS = 300;
/** How many writes the others still have to do after the kill. */
const ANSWERS_AFTER = 100;
const TTL_SECONDS = 3;

interface Scene {
  readonly nodes: readonly ClusterNode[];
  /** A new project through each of the processes, and through the balancer last. */
  readonly projects: readonly Project[];
}

async function withThree(
  settings: Readonly<Record<string, string>>,
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  await withSharedServers(async (servers) => {
    const all = { ...KNOWN, ...settings };
    const options = { processes: 3, port: 0, ...servers, settings: all, onLine: showFailures };
    await using cluster = await startCluster(options);
    const urls = [...cluster.nodes.map(({ url }) => url), cluster.url];
    const projects = await createProject(urls);
    try {
      await use({ nodes: cluster.nodes, projects });
    } finally {
      for (const project of projects) project.close();
    }
  });
}

describe('a process that is killed while all write', { skip }, () => {
  test(`a killed process loses no acknowledged write, and the others continue (seed ${SEED})`, () =>
    withThree({}, async ({ nodes, projects }) => {
      const [first, second, third, balanced] = projects.map(callOf) as [Call, Call, Call, Call];
      const registers = await createRegisters(second, 3);
      const lanes = registers.map((register) => new Lane(register));
      const doomed = lanes.filter((_, index) => index % 3 === 0);
      const survivors = lanes.filter((_, index) => index % 3 !== 0);
      let left = 1 + new Random(SEED).below(MOST_ANSWERS);
      let isKilled = false;
      let after = 0;
      const onDoomedAnswer = () => {
        left -= 1;
        if (left > 0 || isKilled) return;
        isKilled = true;
        nodes[0]?.process.signal('SIGKILL');
      };
      const isOver = () => isKilled && after >= ANSWERS_AFTER;
      const onAnswer = () => {
        if (isKilled) after += 1;
      };
      await Promise.all([
        ...doomed.map((lane) => lane.write(first, onDoomedAnswer)),
        ...survivors.map((lane, index) => lane.write(index % 2 === 0 ? second : third, onAnswer, isOver)),
      ]);
      assert.equal(await nodes[0]?.process.ended(), 'SIGKILL');
      assert.ok(after >= ANSWERS_AFTER, `a survivor stopped after ${after}`);
      // Through the balancer too, which skips the dead process.
      for (const call of [second, third, balanced]) {
        await Promise.all(lanes.map((lane) => lane.check(call)));
      }
      for (const lane of lanes) assert.equal((await lane.register.write(balanced, 1)).status, 200);
    }));
});

describe('presence that a killed process has set', { skip }, () => {
  test('presence set by a killed process is read on the others, and expires there with one departed event', () =>
    withThree({ ROLLCALL_PRESENCE_TTL_SECONDS: `${TTL_SECONDS}` }, async ({ nodes, projects }) => {
      const [first, second, third] = projects as [Project, Project, Project];
      const users = ['ada', 'bob', 'cyd'];
      await first.seedGroup('g', ...users);
      const open = (project: Project) => StreamReader.open(project, '/v1/groups/g/presence');
      using readers = await together([second, third].map(open));
      for (const reader of readers) await reader.snapshot();
      for (const user of users) await new Presence(first).set(user, { page: user });
      await nodes[0]?.process.end('SIGKILL');
      assert.deepEqual(Object.keys(await new Presence(second).ephemeral()), users);
      await until('the departures', () =>
        readers.every((reader) => reader.of('departed').length >= users.length),
      );
      for (const project of [second, third]) assert.deepEqual(await new Presence(project).ephemeral(), {});
      // This arrival comes after all events of the departures.
      await new Presence(third).set('ada', { page: 'after' });
      await until('the arrival', () =>
        readers.every((reader) => reader.events.at(-1)?.data.location.page === 'after'),
      );
      const [one, other] = readers.map((reader) =>
        reader.events.slice(1).map(({ type, data }) => `${type} ${data.id} ${data.reason ?? ''}`.trim()),
      );
      assert.deepEqual(one, other);
      assert.deepEqual(one?.toSorted(), [
        'arrived ada',
        'arrived ada',
        'arrived bob',
        'arrived cyd',
        ...users.map((user) => `departed ${user} expired`),
      ]);
    }));
});
