import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { type PooledWorker, WorkerPool } from '../../src/concurrency/worker-pool.ts';

class FakeWorker implements PooledWorker {
  isAlive = true;
  isClosed = false;

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function poolOf(permits: number): { pool: WorkerPool<FakeWorker>; started: FakeWorker[] } {
  const started: FakeWorker[] = [];
  const start = () => {
    started.push(new FakeWorker());
    return started.at(-1) as FakeWorker;
  };
  return { pool: new WorkerPool(start, { permits }), started };
}

describe('a worker pool', () => {
  test('a worker pool starts a thread when a task needs one, and uses it again', async () => {
    const { pool, started } = poolOf(2);
    const { promise, resolve } = Promise.withResolvers<void>();
    const tasks = [1, 2, 3].map((key) => pool.run(key, () => promise));
    assert.equal(started.length, 2);
    resolve();
    await Promise.all(tasks);
    const last = await pool.run(4, async (worker) => worker);
    assert.equal(await pool.run(5, async (worker) => worker), last, 'the one that was used last');
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const used: FakeWorker[] = [];
    const again = [6, 7].map((key) =>
      pool.run(key, (worker) => {
        used.push(worker);
        return ended;
      }),
    );
    assert.deepEqual(new Set(used), new Set(started));
    end();
    await Promise.all(again);
    assert.equal(started.length, 2);
    await pool.close();
    assert.ok(started.every(({ isClosed }) => isClosed));
  });

  test('a worker pool replaces a thread that died, and gives its permit back', async () => {
    const { pool, started } = poolOf(1);
    const dying = pool.run(1, async (worker) => {
      worker.isAlive = false;
      throw new Error('the thread died');
    });
    await assert.rejects(dying, /died/);
    assert.equal(await pool.run(1, async (worker) => worker), started[1]);
    await pool.close();
    assert.deepEqual(
      started.map(({ isClosed }) => isClosed),
      [false, true],
    );
  });

  test('a worker pool replaces a thread that died while it had no task', async () => {
    const { pool, started } = poolOf(1);
    const first = await pool.run(1, async (worker) => worker);
    first.isAlive = false;
    assert.equal(await pool.run(1, async (worker) => worker), started[1]);
    await pool.close();
    assert.deepEqual(
      started.map(({ isClosed }) => isClosed),
      [false, true],
    );
  });

  test('a worker pool ends a thread that had no task for ten seconds', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { pool, started } = poolOf(1);
      await pool.run(1, async () => {});
      mock.timers.tick(9_000);
      const { promise, resolve } = Promise.withResolvers<void>();
      const task = pool.run(1, () => promise);
      mock.timers.tick(9_000);
      assert.equal(started[0]?.isClosed, false, 'it has a task');
      resolve();
      await task;
      mock.timers.tick(9_000);
      assert.equal(started[0]?.isClosed, false);
      mock.timers.tick(2_000);
      assert.equal(started[0]?.isClosed, true);
      await pool.run(1, async () => {});
      assert.equal(started.length, 2);
      await pool.close();
    } finally {
      mock.timers.reset();
    }
  });
});
