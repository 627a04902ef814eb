/** When a socket reads no more frames. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { FrameQueue } from '../../src/http/socket/frame-queue.ts';

const LARGE = Buffer.alloc(limits.SOCKET_FRAME_MAX_BYTES);

test('a socket reads no more frames while two large ones and another wait for the one that is handled', async () => {
  const handled: number[] = [];
  const slow = Promise.withResolvers<void>();
  const queue = new FrameQueue(
    ({ length }) => {
      handled.push(length);
      return handled.length === 1 ? slow.promise : null;
    },
    () => true,
    () => {},
  );
  for (const frame of [LARGE, LARGE, LARGE]) queue.push(frame);
  assert.equal(queue.isFull, false);
  queue.push(Buffer.alloc(1));
  assert.equal(queue.isFull, true);
  slow.resolve();
  await queue.drain();
  assert.equal(queue.isFull, false);
  assert.deepEqual(handled, [LARGE.length, LARGE.length, LARGE.length, 1]);
});

test('a socket reads no more frames while the next one may not be handled, and forgets those that wait when it ends', () => {
  let isReady = false;
  const handled: number[] = [];
  const queue = new FrameQueue(
    ({ length }) => {
      handled.push(length);
      return null;
    },
    () => isReady,
    () => {},
  );
  assert.equal(queue.isFull, true);
  queue.push(Buffer.alloc(1));
  queue.clear();
  isReady = true;
  queue.push(Buffer.alloc(2));
  assert.deepEqual(handled, [2]);
  assert.equal(queue.isFull, false);
});
