import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import { EventParser } from '../support/event-parser.ts';
import { withStreams } from './stream-world.ts';

const HEARTBEAT_SECONDS = 15;
/** Twenty megabytes of snapshot: more than the network buffers between two sockets. */
const USERS = Array.from({ length: 640 }, (_, index) => `u${index + 1_000}`);

/** The two ends of a connection through the machine's network. */
async function connection(): Promise<{ server: Socket; reader: Socket } & AsyncDisposable> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };
  const reader = connect(port, '127.0.0.1');
  reader.on('error', () => {});
  reader.pause();
  const [server] = (await once(listener, 'connection')) as [Socket];
  server.on('error', () => {});
  return {
    server,
    reader,
    async [Symbol.asyncDispose]() {
      for (const end of [server, reader]) end.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

/** Reads some of the received bytes. */
async function readSome(reader: Socket, parser: EventParser): Promise<void> {
  for (;;) {
    const bytes = reader.read();
    if (bytes !== null) return parser.take(bytes.toString());
    await once(reader, 'readable');
  }
}

test('a reader whose socket reports progress late is not disconnected, and one who receives nothing is', () =>
  withStreams({}, async (world) => {
    await world.seedWide(USERS, 32_768, '1');
    await using slow = await connection();
    await using stuck = await connection();
    for (const { server } of [slow, stuck]) {
      const session = await world.session();
      session.start(new SseSink(server));
      server.once('close', () => session.close());
    }
    await world.until('both to wait', () => slow.server.writableLength * stuck.server.writableLength > 0);
    const parser = new EventParser();
    for (let heartbeat = 1; heartbeat <= 8; heartbeat += 1) {
      await readSome(slow.reader, parser);
      await world.pass(HEARTBEAT_SECONDS);
      assert.equal(slow.server.destroyed, false, `after ${heartbeat} heartbeats`);
    }
    // More was read since then than the network buffers, so the socket reports it.
    const pieces = () => slow.server.bytesWritten;
    for (const before = pieces(); pieces() === before; await nextIteration())
      await readSome(slow.reader, parser);
    await world.pass(HEARTBEAT_SECONDS);
    assert.deepEqual([slow.server.destroyed, stuck.server.destroyed], [false, true]);
    while (parser.events.length === 0) await readSome(slow.reader, parser);
    assert.equal(parser.events[0]?.data.users.length, USERS.length);
  }));
