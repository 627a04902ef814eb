/** When a socket that brings nothing is pinged, when it counts as vanished, and how long one may be open after its close frame. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Liveness } from '../../src/http/socket/liveness.ts';

/**
 * What is done in each of the seconds after a byte came, with nothing from then on. What the server sends is taken by the network of
 * its machine; with `waiting` bytes that wait, by the peer.
 */
function whileSilent(timeoutSeconds: number, seconds: number, waiting = 0): string[] {
  const liveness = new Liveness(timeoutSeconds);
  const tick = (bytesWritten: number) =>
    liveness.tick({ bytesRead: 1, bytesWritten, writableLength: waiting });
  tick(0);
  return Array.from({ length: seconds }, (_, second) => tick(second + 1));
}

describe('a socket that brings nothing', () => {
  test('a silent socket is pinged at half of the timeout, and ends when the timeout has passed without an answer', () => {
    const done = whileSilent(10, 10);
    assert.deepEqual(
      done.flatMap((what, index) => (what === 'nothing' ? [] : [[index + 1, what]])),
      [
        [5, 'ping'],
        [10, 'end'],
      ],
    );
  });

  test('a silent socket whose peer takes bytes is neither pinged nor ended', () => {
    assert.deepEqual(new Set(whileSilent(10, 30, 100)), new Set(['nothing']));
  });

  test('a silent socket is pinged before it ends, also with the shortest timeout', () => {
    assert.deepEqual(whileSilent(1, 2), ['ping', 'end']);
  });
});

test('a connection that is open after its close frame ends behind its frames after 2 s, and without them after 10', () => {
  const liveness = new Liveness(10);
  const done = Array.from({ length: 11 }, () => liveness.closingTick());
  const nothing = (count: number) => Array<string>(count).fill('nothing');
  assert.deepEqual(done, ['nothing', 'drain', ...nothing(8), 'end']);
});
