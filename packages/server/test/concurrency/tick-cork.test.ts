import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { TickCork } from '../../src/concurrency/tick-cork.ts';

/** A stream, and what each system call of it would have sent. */
function recorded(): { stream: Writable; calls: string[] } {
  const calls: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      calls.push(chunk);
      done();
    },
    writev: (chunks, done) => {
      calls.push(chunks.map(({ chunk }) => chunk).join(''));
      done();
    },
  });
  return { stream, calls };
}

describe('a tick cork', () => {
  test('a tick cork sends what is written in one event-loop tick in one call', async () => {
    const { stream, calls } = recorded();
    const cork = new TickCork();
    for (const text of ['a', 'b', 'c']) {
      cork.cork(stream);
      stream.write(text);
    }
    assert.deepEqual(calls, []);
    await nextIteration();
    assert.deepEqual(calls, ['abc']);
  });

  test('a tick cork sends at once when it is flushed, and collects again', async () => {
    const { stream, calls } = recorded();
    const cork = new TickCork();
    cork.cork(stream);
    stream.write('a');
    cork.flush();
    cork.flush();
    assert.deepEqual(calls, ['a']);
    cork.cork(stream);
    stream.write('b');
    stream.write('c');
    await nextIteration();
    assert.deepEqual(calls, ['a', 'bc']);
  });
});
