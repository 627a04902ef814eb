import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { progressDisplay } from '../../src/cli/progress-display.ts';
import { MovedClock } from '../support/moved-clock.ts';

function shown({ isTTY = false, columns = 80, quiet = false } = {}) {
  const clock = new MovedClock();
  const written: string[] = [];
  const screen = { isTTY, columns, write: (text: string) => written.push(text) };
  return { clock, written, display: progressDisplay(screen, clock, quiet) };
}

const half = { state: '5 users', fraction: 0.5 };

describe('the progress of a command on a terminal', () => {
  test('progress is one line that is drawn over ten times a second at most', () => {
    const { clock, written, display } = shown({ isTTY: true });
    display.update(() => half);
    clock.move(99);
    display.update(() => ({ ...half, fraction: 0.6 }));
    clock.move(1);
    display.update(() => ({ ...half, fraction: 1 }));
    assert.deepEqual(written, ['\r\x1b[K50 %, 5 users', '\r\x1b[K100 %, 5 users']);
  });

  test('a note replaces the progress line, which is drawn again below it', () => {
    const { written, display } = shown({ isTTY: true });
    display.update(() => half);
    display.note('roster:3: rejected');
    display.close();
    assert.deepEqual(written.slice(1), ['\r\x1b[Kroster:3: rejected\n50 %, 5 users', '\r\x1b[K']);
  });

  test('a progress line is never wider than the terminal', () => {
    const { written, display } = shown({ isTTY: true, columns: 10 });
    display.update(() => half);
    assert.deepEqual(written, ['\r\x1b[K50 %, 5 u']);
  });

  test('a terminal of unknown width has 80 columns', () => {
    const { written, display } = shown({ isTTY: true, columns: 0 });
    display.update(() => ({ state: 'x'.repeat(100), fraction: null }));
    assert.equal(written.join('').length, '\r\x1b[K'.length + 79);
  });
});

describe('the progress of a command in a log', () => {
  test('progress is a whole line every five seconds at most, without control characters', () => {
    const { clock, written, display } = shown();
    display.update(() => half);
    clock.move(4_999);
    display.update(() => half);
    clock.move(1);
    display.update(() => half);
    display.update(() => half);
    clock.move(5_000);
    display.update(() => ({ ...half, fraction: null }));
    display.note('roster:3: rejected');
    display.close();
    assert.deepEqual(written, ['50 %, 5 users\n', '5 users\n', 'roster:3: rejected\n']);
  });

  test('a quiet command shows notes and no progress', () => {
    for (const isTTY of [true, false]) {
      const { clock, written, display } = shown({ isTTY, quiet: true });
      clock.move(10_000);
      display.update(() => assert.fail('progress is computed'));
      display.note('roster:3: rejected');
      display.close();
      assert.deepEqual(written, ['roster:3: rejected\n']);
    }
  });
});
