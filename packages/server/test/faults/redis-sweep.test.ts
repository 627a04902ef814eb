/** Each presence ends once, with several sweeping processes, some of which are killed. */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { PAGE_1, START, TTL } from '../contract/presence/presence-scene.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { until } from '../support/waiting.ts';
import type { Order, Report } from './sweeper.ts';

const PROJECT = 'project';
const GROUPS = Array.from({ length: 60 }, (_, index) => ({ groupId: `g${index}`, users: 30 }));
/** A group that takes many steps of a sweep. */
const CROWD = { groupId: 'crowd', users: 3_000 };
const ALL = [...GROUPS, CROWD].flatMap(({ groupId, users }) =>
  Array.from({ length: users }, (_, index) => ({ groupId, userId: `u${index}` })),
);
const PROCESSES = 5;
const KILLED = 2;

/** A process, and the reports that it has sent. */
class Sweeper {
  readonly expired: string[] = [];
  sweeps = 0;
  readonly #child: ChildProcess;

  static async start(t: TestContext, url: string): Promise<Sweeper> {
    const child = fork(join(import.meta.dirname, 'sweeper.ts'), [url]);
    t.after(() => child.kill('SIGKILL'));
    const sweeper = new Sweeper(child);
    await once(child, 'message');
    child.on('message', (report: Report) => {
      if (report.kind !== 'swept') return;
      sweeper.expired.push(...report.expired);
      sweeper.sweeps += 1;
    });
    return sweeper;
  }

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  order(order: Order): void {
    this.#child.send(order);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async reports(kind: Report['kind']): Promise<void> {
    for await (const [report] of on(this.#child, 'message')) if ((report as Report).kind === kind) return;
  }
}

/** Counts the `departed` events of each presence. */
async function countEnds(store: PresenceStore): Promise<Map<string, number>> {
  const ends = new Map<string, number>();
  for (const { groupId } of [...GROUPS, CROWD]) {
    await store.watch({ project: PROJECT, groupId }, START, {
      onEvent(_, event) {
        if (event.type !== 'departed') return;
        const presence = `${groupId} ${event.userId}`;
        ends.set(presence, (ends.get(presence) ?? 0) + 1);
      },
      onLost: () => assert.fail('the order was lost'),
    });
  }
  return ends;
}

describe('presence that ends while processes die', { skip: await skipsRedis() }, () => {
  test('each departure is published once, when the process that set the presence has died and others are killed in a sweep', async (t) => {
    const url = freshRedisUrl();
    const store = await openRedisPresence({ url });
    t.after(() => store.close());
    const setter = await Sweeper.start(t, url);
    const update = {
      project: PROJECT,
      incarnation: 1,
      region: PAGE_1,
      location: PAGE_1,
      now: START,
      expiresAt: START + TTL,
    };
    setter.order({ kind: 'set', updates: ALL.map((who) => ({ ...update, ...who })) });
    await setter.reports('set');
    await setter.kill();

    const ends = await countEnds(store);
    const sweepers = await Promise.all(Array.from({ length: PROCESSES }, () => Sweeper.start(t, url)));
    for (const sweeper of sweepers) sweeper.order({ kind: 'sweep', from: START + TTL });
    await until('some departures are published', async () => ends.size > 100);
    await Promise.all(sweepers.slice(0, KILLED).map((sweeper) => sweeper.kill()));
    await until('all departures are published', async () => ends.size === ALL.length);
    const left = sweepers.slice(KILLED);
    const sweeps = left.map((sweeper) => sweeper.sweeps);
    await until('nothing is left to sweep', async () =>
      left.every((sweeper, index) => sweeper.sweeps > (sweeps[index] as number) + 5),
    );
    assert.ok(
      [...ends.values()].every((count) => count === 1),
      'no departure is published twice',
    );
    const expired = sweepers.flatMap((sweeper) => sweeper.expired);
    assert.equal(new Set(expired).size, expired.length, 'and no sweep reports one twice');
  });
});
