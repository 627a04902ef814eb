/** The indexes of groups in Redis, when the sweeps of two processes overlap: a claim has ended, or their clocks differ. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DueGroups } from '../../src/presence/redis/due-groups.ts';
import { PresenceEngine } from '../../src/presence/redis/presence-engine.ts';
import { RedisConnection } from '../../src/redis/redis-connection.ts';
import { parseRedisUrl } from '../../src/redis/redis-url.ts';
import { slices } from '../../src/values/slices.ts';
import { PAGE_1, START, TTL } from '../contract/presence/presence-scene.ts';
import { withRedisScene } from '../contract/presence/redis-scene.ts';
import { closing } from '../support/closing.ts';
import { type OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';

/** When a sweep finds the group, before its presence expires. */
const DUE = START + TTL - 500;
/** Entries that no presence relies on have been removed by then. */
const LATER = START + 2 * TTL;

type OnIndex = PresenceEngine['onIndex'];

/** The sweeps of another process, which waits before its steps of one name. */
class DelayedEngine extends PresenceEngine {
  readonly #delayed: Parameters<OnIndex>[0];
  readonly #reached = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();

  constructor(connection: RedisConnection, delayed: Parameters<OnIndex>[0]) {
    super(connection);
    this.#delayed = delayed;
  }

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  override async onIndex(...step: Parameters<OnIndex>): Promise<unknown> {
    if (step[0] === this.#delayed) {
      this.#reached.resolve();
      await this.#released.promise;
    }
    return super.onIndex(...step);
  }
}

async function withDelayed(
  { url }: OwnRedis,
  delayed: Parameters<OnIndex>[0],
  use: (due: DueGroups, engine: DelayedEngine) => Promise<void>,
): Promise<void> {
  const connection = await RedisConnection.open(parseRedisUrl(url), 'presence');
  try {
    const engine = new DelayedEngine(connection, delayed);
    await use(new DueGroups(engine), engine);
  } finally {
    connection.close();
  }
}

describe('a sweep that schedules a group again while another one removes it', { skip: skipsOwnRedis }, () => {
  test('leaves no key in Redis where it comes after the removal', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await withDelayed(redis, 'addToIndex', async (due, engine) => {
        const late = due.sweep(DUE);
        await engine.reached;
        assert.equal((await scene.store.sweep(START + TTL)).length, 1);
        engine.release();
        await late;
      });
      await scene.store.sweep(LATER);
      assert.deepEqual(await redis.command('KEYS', '*'), []);
    }));

  test('leaves no key in Redis where it comes between the two steps of the removal', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await withDelayed(redis, 'addToIndex', (due, engine) =>
        withDelayed(redis, 'reschedule', async (otherDue, otherEngine) => {
          const late = due.sweep(DUE);
          await engine.reached;
          const removing = otherDue.sweep(START + TTL);
          await otherEngine.reached;
          engine.release();
          await late;
          otherEngine.release();
          await removing;
        }),
      );
      await scene.store.sweep(LATER);
      assert.deepEqual(await redis.command('KEYS', '*'), []);
    }));
});

test(
  'an entry that was replaced after the clock was set back leaves no key in Redis',
  { skip: skipsOwnRedis },
  () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await scene.store.sweep(START);
      const now = START - 3_600_000;
      await scene.set('ann', PAGE_1, { now });
      for (const passed of [0, TTL, 2 * TTL]) await scene.store.sweep(now + passed);
      assert.deepEqual(await redis.command('KEYS', '*'), []);
    }),
);

/** Where the groups whose ID begins with `away` cannot be reached. */
class PartlyAway extends PresenceEngine {
  readonly swept = new Set<string>();

  override onGroup(...call: Parameters<PresenceEngine['onGroup']>): Promise<unknown> {
    const [script, { groupId }] = call;
    if (script === 'expire' && groupId.startsWith('away')) return Promise.reject(new Error('away'));
    if (script === 'expire') this.swept.add(groupId);
    return super.onGroup(...call);
  }
}

test(
  'a sweep after the clock was set back reaches the other groups of Redis while very many cannot be reached',
  { skip: skipsOwnRedis },
  () =>
    withRedisScene(async (scene, redis) => {
      const connection = await RedisConnection.open(parseRedisUrl(redis.url), 'presence');
      await using _ = closing(connection);
      const engine = new PartlyAway(connection);
      const due = new DueGroups(engine);
      due.lasts(TTL);
      const ids = ['away', 'here'].flatMap((kind) =>
        Array.from({ length: 1_200 }, (_, index) => `${kind}${index}`),
      );
      // Not all at once: Redis answers each within seconds also on a busy machine.
      for (const some of slices(ids, 100))
        await Promise.all(some.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
      await due.sweep(START);
      await assert.rejects(due.sweep(START - 3_600_000), /away/);
      assert.equal(engine.swept.size, 1_200);
    }),
);
