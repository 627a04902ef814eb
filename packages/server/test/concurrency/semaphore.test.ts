import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { KeyedMutex } from '../../src/concurrency/keyed-mutex.ts';
import { Semaphore, type SemaphoreLimits } from '../../src/concurrency/semaphore.ts';

const busy = () => new Error('busy');

/** A semaphore whose tasks run until they are ended by name, and the names of those that run. */
class Tasks {
  readonly semaphore: Semaphore;
  readonly running: string[] = [];
  readonly #ends = new Map<string, () => void>();

  constructor(limits: SemaphoreLimits) {
    this.semaphore = new Semaphore({ unavailable: busy, ...limits });
  }

  /** The key of `a1` is `a`. */
  start(name: string, until?: number): Promise<void> {
    const task = async () => {
      this.running.push(name);
      await new Promise<void>((resolve) => this.#ends.set(name, resolve));
      this.running.splice(this.running.indexOf(name), 1);
    };
    return this.semaphore.run(name.slice(0, 1), task, until);
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await nextIteration();
  }
}

describe('a semaphore', () => {
  test('a semaphore runs as many tasks at once as it has permits, and serves keys round robin', async () => {
    const tasks = new Tasks({ permits: 2 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1']) void tasks.start(name);
    assert.deepEqual(tasks.running, ['a1', 'a2']);
    assert.ok(tasks.semaphore.isContended);
    assert.equal(tasks.semaphore.waiting, 4);
    await tasks.end('a1');
    assert.deepEqual(tasks.running, ['a2', 'a3']);
    await tasks.end('a2');
    assert.deepEqual(tasks.running, ['a3', 'b1']);
    await tasks.end('a3');
    assert.deepEqual(tasks.running, ['b1', 'c1']);
    await tasks.end('b1');
    assert.deepEqual(tasks.running, ['c1', 'a4']);
    assert.ok(!tasks.semaphore.isContended);
  });

  test('a semaphore gives one key no more permits than a key may have, also when others are free', async () => {
    const tasks = new Tasks({ permits: 3, permitsPerKey: 2 });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) void tasks.start(name);
    assert.deepEqual(tasks.running, ['a1', 'a2', 'b1']);
    await tasks.end('b1');
    assert.deepEqual(tasks.running, ['a1', 'a2', 'b2']);
    await tasks.end('b2');
    assert.deepEqual(tasks.running, ['a1', 'a2']);
    await tasks.end('a2');
    assert.deepEqual(tasks.running, ['a1', 'a3']);
    void tasks.start('a4');
    assert.deepEqual(tasks.running, ['a1', 'a3']);
  });

  test('a semaphore rejects the caller that finds too many of its key waiting, and no other', async () => {
    const tasks = new Tasks({ permits: 1, waitingPerKey: 1 });
    void tasks.start('a1');
    void tasks.start('a2');
    await assert.rejects(tasks.start('a3'), busy());
    void tasks.start('b1');
    await tasks.end('a1');
    assert.deepEqual(tasks.running, ['a2']);
    void tasks.start('a4');
    await tasks.end('a2');
    await tasks.end('b1');
    assert.deepEqual(tasks.running, ['a4']);
  });

  test('a semaphore rejects a caller whose time is over, and serves the next one', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const tasks = new Tasks({ permits: 1 });
      void tasks.start('a1');
      const late = assert.rejects(tasks.start('a2', performance.now() + 1_000), busy());
      void tasks.start('a3', performance.now() + 60_000);
      mock.timers.tick(1_000);
      await late;
      await tasks.end('a1');
      assert.deepEqual(tasks.running, ['a3']);
      mock.timers.tick(60_000);
      assert.deepEqual(tasks.running, ['a3'], 'a task that has begun is left alone');
    } finally {
      mock.timers.reset();
    }
  });

  test('a semaphore gives the permit back when the task fails', async () => {
    const semaphore = new Semaphore({ permits: 1 });
    await assert.rejects(
      semaphore.run('a', () => Promise.reject(busy())),
      busy(),
    );
    assert.equal(await semaphore.run('a', async () => 'ran'), 'ran');
    await semaphore.acquire('a');
    const order: string[] = [];
    const second = semaphore.acquire('a').then(() => order.push('acquired'));
    await nextIteration();
    order.push('released');
    semaphore.release('a');
    await second;
    assert.deepEqual(order, ['released', 'acquired']);
  });

  test('a semaphore rejects the waiting callers on request, and serves later ones', async () => {
    const tasks = new Tasks({ permits: 1 });
    void tasks.start('a1');
    const waiting = ['a2', 'b1'].map((name) => assert.rejects(tasks.start(name), /closed/));
    tasks.semaphore.rejectWaiting(new Error('closed'));
    await Promise.all(waiting);
    await tasks.end('a1');
    void tasks.start('c1');
    assert.deepEqual(tasks.running, ['c1']);
  });
});

describe('a keyed mutex', () => {
  test('a keyed mutex runs the tasks of a key one after the other, and those of other keys at once', async () => {
    const mutex = new KeyedMutex(busy);
    const begun: string[] = [];
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const run = (key: string, name: string, until?: number) =>
      mutex.run(
        key,
        async () => {
          begun.push(name);
          if (name === 'a1') await ended;
        },
        until,
      );
    const first = run('a', 'a1');
    const late = assert.rejects(run('a', 'late', performance.now()), busy());
    const [second, third] = [run('a', 'a2'), run('a', 'a3')];
    await run('b', 'b1');
    await late;
    assert.deepEqual(begun, ['a1', 'b1']);
    end();
    await Promise.all([first, second, third]);
    assert.deepEqual(begun, ['a1', 'b1', 'a2', 'a3']);
  });
});
