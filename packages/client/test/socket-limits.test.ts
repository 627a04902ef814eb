/** What the server rejects for a while, and what a client must give back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WebSocket } from 'ws';
import { limits } from '../../protocol/src/index.ts';
import { FrameRate } from '../../server/src/http/socket/frame-rate.ts';
import { until } from '../../server/test/support/waiting.ts';
import type { RollcallError } from '../src/index.ts';
import {
  accept,
  type ReceivedFrame,
  type SocketScript,
  withScriptedSocket,
} from './support/scripted-socket.ts';

const LOCATION = { page: 'a' };
/** The server closes a socket with a larger frame. */
const FRAME_MAX_BYTES = 65_536;
/** The client closes a socket whose server is silent for so long. */
const ANSWER_TIMEOUT_MS = 10_000;
const TOO_MANY = { error: 'invalid_request', message: 'more than 5 requests in a second' };

/** Rejects the first frame of this op because of the rate limit. */
const limited =
  (op: string): SocketScript =>
  (frame, index) => {
    if (frame.op !== op || index > 0) return true;
    frame.send({ ref: frame.ref, ...TOO_MANY });
    return false;
  };

describe('the limits of a socket', () => {
  test('an announcement that does not fit a frame ends with invalid_request, and the socket stays open', async () => {
    const script: SocketScript = ({ ws, ...frame }) => {
      const isLarge = Buffer.byteLength(JSON.stringify(frame)) > FRAME_MAX_BYTES;
      if (isLarge) ws.close(1009);
      return !isLarge;
    };
    await withScriptedSocket(script, async ({ client, opened }) => {
      let error: RollcallError | null = null;
      const announcement = client.presence.announce({
        location: LOCATION,
        data: { text: 'é'.repeat(FRAME_MAX_BYTES / 2) },
      });
      void announcement.ended.then((reason) => {
        error = reason;
      });
      await until('the announcement ends, or the socket is lost', () => error !== null || opened() > 1);
      assert.equal((error as RollcallError | null)?.code, 'invalid_request');
      assert.equal(opened(), 1);
    });
  });

  test('an announcement whose update is above the rate limit goes on, and its user is present', async () => {
    await withScriptedSocket(limited('present'), async ({ client, of }) => {
      const errors: RollcallError[] = [];
      const onError = (error: RollcallError) => errors.push(error);
      const announcement = client.presence.announce({ location: LOCATION, onError });
      await until('the update is sent again', () => of('present').length === 2);
      assert.deepEqual(
        errors.map(({ code, retryable }) => [code, retryable]),
        [['invalid_request', true]],
      );
      assert.equal(await Promise.race([announcement.ended, 'goes on']), 'goes on');
    });
  });

  test('the first presence is sent once, as it is when the socket opens, and once on each later socket', async (context) => {
    const opens: (() => void)[] = [];
    const onUpgrade = (open: () => void) => opens.push(open);
    await withScriptedSocket(
      () => true,
      async ({ client, of }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        const announcement = client.presence.announce({ location: LOCATION });
        for (const [index, page] of ['b', 'c'].entries()) {
          announcement.move({ page });
          await until('a socket is requested', () => {
            if (index > 0) context.mock.timers.tick(100);
            return opens.length > index;
          });
          opens[index]?.();
          await until('the presence is sent', () => of('present').length > index);
          // Updates are some milliseconds apart; the answer comes after all that were sent.
          context.mock.timers.tick(1_000);
          await client.presence.watch().next();
          const locations = of('present').map(({ location }) => location?.page);
          assert.deepEqual(locations, ['b', 'c'].slice(0, index + 1));
          if (index === 0) of('auth')[0]?.ws.close(1001);
          await until('the socket is lost', () => client.status.get().state !== 'open' || index > 0);
        }
        context.mock.timers.reset();
      },
      { onUpgrade },
    );
  });

  test('an absence that the server cannot apply is sent until it can, because the socket holds the location', async (context) => {
    let isDown = true;
    const script: SocketScript = ({ op, ref, send }) => {
      if (op !== 'absent' || !isDown) return true;
      send({ ref, error: 'error', message: 'the store cannot be reached' });
      return false;
    };
    await withScriptedSocket(script, async ({ client, of }) => {
      context.mock.timers.enable({ apis: ['setTimeout'] });
      const announcement = client.presence.announce({ location: LOCATION });
      await until('the user is present', () => {
        context.mock.timers.tick(100);
        return of('present').length === 1;
      });
      let isEnded = false;
      void announcement.leave().then(() => {
        isEnded = true;
      });
      await until('the absence is sent again', () => {
        context.mock.timers.tick(1_000);
        return isEnded || of('absent').length === 5;
      });
      isDown = false;
      await until('the announcement ends', () => {
        context.mock.timers.tick(1_000);
        return isEnded;
      });
      assert.equal(of('absent').length, 6);
      context.mock.timers.reset();
    });
  });

  test('an announcement that ends with an error sets its user absent where they were before', async () => {
    const script: SocketScript = ({ op, ref, send, location }) => {
      if (op !== 'present' || location?.page !== 'b') return true;
      send({ ref, error: 'invalid_field', message: 'no' });
      return false;
    };
    await withScriptedSocket(script, async ({ client, of }) => {
      const announcement = client.presence.announce({ location: LOCATION });
      await until('the user is present', () => of('present').length === 1);
      announcement.move({ page: 'b' });
      assert.equal((await announcement.ended)?.code, 'invalid_field');
      assert.deepEqual(
        of('absent').map(({ location }) => location),
        [LOCATION],
      );
    });
  });

  test('an announcement that moves on while its update is rejected with invalid_field is at the next location', async () => {
    const held: ReceivedFrame[] = [];
    const script: SocketScript = (frame) => {
      if (frame.op === 'present' && frame.location?.page === 'b') held.push(frame);
      return frame.op !== 'present' || frame.location?.page !== 'b';
    };
    await withScriptedSocket(script, async ({ client, of }) => {
      const announcement = client.presence.announce({ location: LOCATION });
      await until('the user is present', () => of('present').length === 1);
      announcement.move({ page: 'b' });
      await until('the move is sent', () => held.length === 1);
      announcement.move({ page: 'c' });
      for (const { ref, send } of held) send({ ref, error: 'invalid_field', message: 'no' });
      const isThere = () => of('present').at(-1)?.location?.page === 'c';
      await until('the next move is sent, or there is none', () => isThere() || of('absent').length > 0);
      assert.ok(isThere());
      assert.equal(await Promise.race([announcement.ended, 'goes on']), 'goes on');
    });
  });

  test('a user leaves the location of an announcement whose data were rejected with invalid_field, also after a move', async () => {
    for (const moves of [false, true]) {
      const held: ReceivedFrame[] = [];
      const script: SocketScript = (frame) => {
        if (frame.data) held.push(frame);
        return held.at(-1) !== frame;
      };
      await withScriptedSocket(script, async ({ client, of }) => {
        const announcement = client.presence.announce({ location: LOCATION });
        await until('the user is present', () => of('present').length === 1);
        announcement.move(LOCATION, { data: { x: 1 } });
        await until('the data are sent', () => held.length === 1);
        if (moves) announcement.move({ page: 'c' }, { data: null });
        for (const { ref, send } of held) send({ ref, error: 'invalid_field', message: 'no' });
        await until('the absence is sent', () => of('absent').length > 0);
        assert.deepEqual(of('absent')[0]?.location, LOCATION);
      });
    }
  });

  test('a watch that is above the rate limit is opened again', async () => {
    await withScriptedSocket(limited('watch'), async ({ client }) => {
      assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
    });
  });

  test('a page that opens more watches than the server takes frames at once opens all of them, on one socket', async () => {
    const rates = new Map<WebSocket, FrameRate>();
    const script: SocketScript = ({ ws }) => {
      const rate = rates.get(ws) ?? new FrameRate(performance.now());
      rates.set(ws, rate);
      if (rate.take(performance.now())) return true;
      ws.close(4429);
      return false;
    };
    await withScriptedSocket(script, async ({ client, opened }) => {
      const watches = Array.from({ length: limits.SOCKET_FRAMES_BURST + 10 }, () => client.presence.watch());
      let snapshots = 0;
      for (const watch of watches) void watch.next().then(() => (snapshots += 1));
      await until('each watch has its snapshot', () => snapshots === watches.length || opened() > 1, 5_000);
      assert.equal(opened(), 1);
      // What has ended before its frame was sent takes no time: a list that is scrolled fast.
      const passed = Array.from({ length: 1_000 }, () => client.presence.watch());
      const ended = passed.map((watch) => watch.next());
      await new Promise(setImmediate);
      await Promise.all(passed.map((watch) => watch.return()));
      await Promise.all(ended);
      void client.presence
        .watch()
        .next()
        .then(() => (snapshots += 1));
      await until('a later watch has its snapshot', () => snapshots === watches.length + 1, 2_000);
    });
  });

  test('a watch that the server has ended with group_not_found is not unwatched', async () => {
    const data = { error: 'group_not_found', message: 'the group is gone' };
    const script: SocketScript = (frame, index) => {
      accept(frame);
      if (frame.op === 'watch' && index === 0) frame.send({ watch: frame.ref, event: 'ended', data });
      return false;
    };
    await withScriptedSocket(script, async ({ client, of }) => {
      const watch = client.presence.watch({ groupID: 'g' });
      await watch.next();
      await assert.rejects(watch.next(), { code: 'group_not_found' });
      await client.presence.watch({ groupID: 'h' }).next();
      assert.deepEqual(of('unwatch'), []);
    });
  });

  test('a watch that ends while it is opened is unwatched when the server has opened it', async () => {
    const held: ReceivedFrame[] = [];
    const script: SocketScript = (frame) => {
      if (frame.op === 'watch') held.push(frame);
      return frame.op !== 'watch';
    };
    await withScriptedSocket(script, async ({ client, of }) => {
      // Keeps the socket open.
      client.presence.announce({ location: LOCATION });
      const watch = client.presence.watch();
      const next = watch.next();
      await until('the watch is opened', () => held.length === 1);
      await watch.return();
      assert.equal((await next).done, true);
      accept(held[0] as ReceivedFrame);
      await until('it is unwatched', () => of('unwatch').length === 1);
      assert.equal(of('unwatch')[0]?.watch, held[0]?.ref);
    });
  });

  test('a user is moved also after the clock of their machine was set back', async (context) => {
    await withScriptedSocket(
      () => true,
      async ({ client, of }) => {
        const announcement = client.presence.announce({ location: LOCATION, exclusiveWithin: LOCATION });
        await until('the user is present', () => of('present').length === 1);
        const { now } = Date;
        context.mock.method(Date, 'now', () => now() - 3_600_000);
        announcement.move({ ...LOCATION, at: '2' });
        await until('the move arrived', () => of('present').at(-1)?.location?.at === '2', 5_000);
      },
    );
  });

  test('a socket whose server takes long for many frames stays open while answers come', async (context) => {
    const held: ReceivedFrame[] = [];
    const script: SocketScript = (frame) => {
      if (frame.op === 'watch') held.push(frame);
      return frame.op !== 'watch';
    };
    await withScriptedSocket(script, async ({ client }) => {
      context.mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const watches = [0, 1, 2].map(() => client.presence.watch());
        let snapshots = 0;
        for (const watch of watches) void watch.next().then(() => (snapshots += 1));
        await until('all are requested', () => held.length === watches.length);
        for (const [index, frame] of held.entries()) {
          context.mock.timers.tick(ANSWER_TIMEOUT_MS - 1_000);
          accept(frame);
          const isOpen = () => client.status.get().state === 'open';
          await until('it is answered, or the socket is lost', () => snapshots > index || !isOpen());
          assert.ok(isOpen());
        }
      } finally {
        // What ends the scene waits too.
        context.mock.timers.reset();
      }
    });
  });

  test('a socket whose server answers nothing is closed in time, however many frames are sent meanwhile', async (context) => {
    const script: SocketScript = ({ op }) => op === 'auth';
    await withScriptedSocket(script, async ({ client, of }) => {
      context.mock.timers.enable({ apis: ['setTimeout'] });
      try {
        void client.presence.watch().next();
        await until('a frame without an answer', () => of('watch').length === 1);
        context.mock.timers.tick(ANSWER_TIMEOUT_MS - 1);
        void client.presence.watch().next();
        await until('another one', () => of('watch').length === 2);
        context.mock.timers.tick(1);
        await until('the socket is lost', () => client.status.get().state === 'reconnecting');
      } finally {
        context.mock.timers.reset();
      }
    });
  });

  test('a socket that is closed soon after each login is opened again after longer and longer pauses', async () => {
    const times: number[] = [];
    const script: SocketScript = (frame) => {
      times.push(performance.now());
      accept(frame);
      frame.ws.close(1011);
      return false;
    };
    await withScriptedSocket(script, async ({ client }) => {
      void client.presence.watch().next();
      await until('the fourth login', () => times.length === 4);
      const pauses = times.map((time, index) => time - (times[index - 1] ?? time));
      assert.ok((pauses.at(-1) as number) > 900, `${pauses}`);
    });
  });
});
