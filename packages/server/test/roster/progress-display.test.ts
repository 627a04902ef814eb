import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { progressDisplay } from '../../src/cli/roster/progress-display.ts';
import { MovedClock } from '../support/moved-clock.ts';

function shown({ isTTY = false, columns = 80, quiet = false } = {}) {
  const clock = new MovedClock();
  const written: string[] = [];
  const screen = { isTTY, columns, write: (text: string) => written.push(text) };
  return { clock, written, display: progressDisplay(screen, clock, quiet) };
}

const half = { state: '5 users', fraction: 0.5 };

describe('on a terminal', () => {
  test('a bar is drawn over itself, ten times a second at most', () => {
    const { clock, written, display } = shown({ isTTY: true });
    display.update(half);
    clock.move(99);
    display.update({ ...half, fraction: 0.6 });
    clock.move(1);
    display.update({ ...half, fraction: 1 });
    assert.deepEqual(written, [
      '\r\x1b[K[############------------]  50 %, 5 users',
      '\r\x1b[K[########################] 100 %, 5 users',
    ]);
  });

  test('a note takes the place of the bar, which goes on below', () => {
    const { written, display } = shown({ isTTY: true });
    display.update(half);
    display.note('roster:3: refused');
    display.close();
    const [bar = '', note, cleared] = written;
    assert.equal(note, `\r\x1b[Kroster:3: refused\n${bar.slice('\r\x1b[K'.length)}`);
    assert.equal(cleared, '\r\x1b[K');
  });

  test('the bar never breaks into a second line', () => {
    const { written, display } = shown({ isTTY: true, columns: 20 });
    display.update(half);
    assert.equal(written.join('').length, '\r\x1b[K'.length + 19);
  });

  test('a terminal that does not know its width is taken for an ordinary one', () => {
    const { written, display } = shown({ isTTY: true, columns: 0 });
    display.update(half);
    assert.match(written.join(''), /5 users$/);
  });

  test('where the end is not known there is no bar', () => {
    const { written, display } = shown({ isTTY: true });
    display.update({ ...half, fraction: null });
    assert.deepEqual(written, ['\r\x1b[K5 users']);
  });
});

describe('elsewhere', () => {
  test('there is a whole line every five seconds at most, without control characters', () => {
    const { clock, written, display } = shown();
    display.update(half);
    clock.move(4_999);
    display.update(half);
    clock.move(1);
    display.update(half);
    display.update(half);
    clock.move(5_000);
    display.update({ ...half, fraction: null });
    display.note('roster:3: refused');
    display.close();
    assert.deepEqual(written, ['50 %, 5 users\n', '5 users\n', 'roster:3: refused\n']);
  });
});

test('a quiet display shows notes only', () => {
  for (const isTTY of [true, false]) {
    const { clock, written, display } = shown({ isTTY, quiet: true });
    clock.move(10_000);
    display.update(half);
    display.note('roster:3: refused');
    display.close();
    assert.deepEqual(written, ['roster:3: refused\n']);
  }
});
