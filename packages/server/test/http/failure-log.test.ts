/** The log lines of failures that repeat. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FailureLog } from '../../src/core/failure-log.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { recordedLog } from '../support/recorded-log.ts';
import { type AppCase, altered, withApp } from './app-case.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly count: number;
  readonly reqId: string;
  readonly err: { readonly type: string; readonly message: string; readonly stack?: string };
}

/** The lines that a server writes whose groups cannot be read. */
async function failing(
  failure: () => Error,
  use: (appCase: AppCase, lines: Line[], request: (id: string) => Promise<unknown>) => Promise<void>,
): Promise<Line[]> {
  const { log, lines } = recordedLog<Line>();
  const disturb = ({ store }: Engine) => ({
    store: altered(store, { groups: { find: () => Promise.reject(failure()) } }),
  });
  await withApp({ disturb, log }, (appCase) =>
    use(appCase, lines, (id) => appCase.call('GET', '/v1/groups/g', { headers: { 'x-request-id': id } })),
  );
  return lines;
}

const away = () => new StoreUnavailableError('the store is away', { cause: new Error('connection refused') });
const counts = (lines: readonly Line[]) => lines.map(({ count, reqId }) => `${count} from ${reqId}`);

describe('a failure that repeats', () => {
  test('a failure that repeats is one line at once and then one line a second, with the count and the first request ID', async () => {
    await failing(away, async ({ clock }, lines, request) => {
      for (let id = 1; id <= 50; id += 1) await request(`a${id}`);
      assert.deepEqual(counts(lines), ['1 from a1']);
      clock.move(2_000);
      assert.deepEqual(counts(lines), ['1 from a1', '49 from a2']);
      for (let second = 0; second < 3; second += 1) {
        for (let id = 1; id <= 20; id += 1) await request(`b${second}${id}`);
        clock.move(1_000);
      }
      assert.deepEqual(counts(lines).slice(2), ['20 from b01', '20 from b11', '20 from b21']);
    });
  });

  test('a failure that comes just before a second ends is not followed by another line at once', async () => {
    await failing(away, async ({ clock }, lines, request) => {
      clock.move(999);
      await request('a1');
      await request('a2');
      clock.move(1);
      assert.deepEqual(counts(lines), ['1 from a1']);
      clock.move(1_000);
      assert.deepEqual(counts(lines), ['1 from a1', '1 from a2']);
    });
  });

  test('a failure that repeats is written at once again after a second without it', async () => {
    await failing(away, async ({ clock }, lines, request) => {
      await request('a1');
      clock.move(2_000);
      await request('a2');
      assert.deepEqual(counts(lines), ['1 from a1', '1 from a2']);
    });
  });

  test('a failure that repeats is counted to the end when the server is closed', async () => {
    const lines = await failing(away, async (_case, _lines, request) => {
      for (let id = 1; id <= 7; id += 1) await request(`a${id}`);
    });
    assert.deepEqual(counts(lines), ['1 from a1', '6 from a2']);
  });
});

describe('a line has', () => {
  test('a log line has the causes and no stack where an engine is away', async () => {
    const [line] = await failing(away, async (_case, _lines, request) => void (await request('a')));
    assert.deepEqual(line?.err, {
      type: 'StoreUnavailableError',
      message: 'the store is away: connection refused',
    });
  });

  test('a log line has the stack of an unexpected error, in one line for each stack', async () => {
    const defects = [() => new TypeError('x of 1'), () => new TypeError('y of 2')];
    let calls = 0;
    const lines = await failing(
      () => (defects[calls++ % 2] as () => Error)(),
      async (_case, _lines, request) => {
        for (let id = 1; id <= 6; id += 1) await request(`a${id}`);
      },
    );
    assert.deepEqual(counts(lines), ['1 from a1', '1 from a2', '2 from a3', '2 from a4']);
    for (const { err } of lines) assert.match(String(err.stack), /^TypeError: [xy] of \d\n +at /);
  });
});

describe('the log of failures', () => {
  test('the log of failures has lines of their own for a hundred kinds, and one for all others', () => {
    const { log, lines } = recordedLog<Line>();
    const clock = new MovedClock();
    const failures = new FailureLog(log, clock);
    for (let round = 0; round < 2; round += 1) {
      for (let kind = 0; kind < 150; kind += 1) failures.log.error({ err: away() }, `failure ${kind}`);
    }
    assert.equal(lines.length, 101);
    clock.move(2_000);
    assert.equal(lines.length, 202);
    assert.equal(lines.find(({ msg, count }) => msg === 'failures of other kinds' && count > 1)?.count, 99);
    assert.equal(
      lines.reduce((sum, { count }) => sum + count, 0),
      300,
    );
    clock.move(1_000);
    failures.log.error({ err: away() }, 'failure 149');
    assert.equal(lines.at(-1)?.msg, 'failure 149', 'kinds that are over make room');
    failures.close();
    assert.equal(clock.timers, 0);
  });

  test('the log of failures distinguishes engines, levels and messages, but not numbers in the text', () => {
    const { log, lines } = recordedLog<Line>();
    const failures = new FailureLog(log, new MovedClock());
    const unavailable = (message: string) => ({ err: new StoreUnavailableError(message) });
    failures.log.error(unavailable('Redis: no answer within 20 ms'), 'a request failed');
    failures.log.error(unavailable('Redis: no answer within 21 ms'), 'a request failed');
    failures.log.error(unavailable('PostgreSQL cannot do it now: x'), 'a request failed');
    failures.log.warn(unavailable('Redis: no answer within 20 ms'), 'a request failed');
    failures.log.error(unavailable('Redis: no answer within 20 ms'), 'a stream failed');
    failures.log.warn('a text alone');
    assert.equal(lines.length, 5);
    assert.equal(lines.at(-1)?.msg, 'a text alone');
    failures.close();
    assert.equal(lines.length, 6);
  });

  test('the log of failures writes a failure of a known kind that comes after it was closed', () => {
    const { log, lines } = recordedLog<Line>();
    const failures = new FailureLog(log, new MovedClock());
    for (let id = 1; id <= 3; id += 1)
      failures.log.error({ err: away(), reqId: `a${id}` }, 'a request failed');
    failures.close();
    failures.log.error({ err: away(), reqId: 'b1' }, 'a request failed');
    assert.deepEqual(counts(lines), ['1 from a1', '2 from a2', '1 from b1']);
  });

  test('the log of failures omits lines below its level, and writes all others', () => {
    const { log, lines } = recordedLog<Line>('error');
    const failures = new FailureLog(log, new MovedClock());
    failures.log.warn({ err: away() }, 'a warning');
    failures.log.info('listening');
    assert.equal(failures.log.isLevelEnabled('debug'), false);
    failures.close();
    assert.deepEqual(lines, []);
  });
});
