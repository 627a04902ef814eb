/** A socket whose client does not read while much changes: what it is sent when it reads again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReaderModel } from '../realtime/reader-model.ts';
import { Browser } from '../support/browser.ts';
import { markdown, messagePath, threadPath } from '../support/conversation.ts';
import { expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { openPresenceStreams, type ReceivedFrame, SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';

// A client that does not read does not answer pings either.
const server = oneServer({ settings: { socketTimeoutSeconds: 3_600 } });

const USERS = Array.from({ length: 60 }, (_, index) => `u${index}`);
/** Some 7 KB: six texts of a thousand characters. */
const WIDE = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => [key, 'x'.repeat(1_000)]));
/** Each round is some 440 KB of events: together more than three times what the machine's network takes. */
const ROUNDS = 80;
/** A snapshot of some 20 MB: several times what the machine's network takes. */
const CROWD = Array.from({ length: 400 }, (_, index) => `c${index}`);
const LOCATIONS_EACH = 8;
const WATCH = 100;
const SENT_BYTES = ROUNDS * USERS.length * 7_000;

const eventsOf = (frames: readonly ReceivedFrame[], watch: number) =>
  frames.filter((frame) => frame.watch === watch).map(({ event: type, id, data }) => ({ type, id, data }));

async function seeded(users: readonly string[] = USERS): Promise<Project> {
  const project = await server.project();
  const members = ['reader', ...users];
  await project.seed({
    users: members.map((id) => ({ id })),
    groups: [{ id: 'g', name: 'G', members }],
  });
  return project;
}

/** Moves all users in each round: more bytes than the machine's network takes. */
async function moveAll(project: Project): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const updates = USERS.map((userID) => ({
      ...{ userID, groupID: 'g', exclusiveWithin: { page: 'p' } },
      location: { page: 'p', ...WIDE, line: `${round}` },
    }));
    expectOk(await project.put('/v1/presence', { updates }));
  }
}

/** Waits until a socket has this event of each of so many. */
const hasAll = (socket: SocketClient, count: number, idOf: (frame: ReceivedFrame) => string | null) =>
  socket.until(
    `${count} events`,
    () => new Set(socket.frames.map(idOf).filter((id) => id !== null)).size === count,
  );

const atTheEnd = ({ event, data }: ReceivedFrame) =>
  event === 'arrived' && data.location.line === `${ROUNDS - 1}` ? data.id : null;

describe('a socket that does not read', () => {
  test('a slow reader of presence gets a new snapshot instead of what it missed, and the server stores little for it', async () => {
    const project = await seeded();
    using slow = await SocketClient.of(project, 'reader', 'g');
    using quick = await SocketClient.of(project, 'reader', 'g');
    const watch = await slow.ok('watch');
    await slow.event('snapshot');
    await quick.ok('watch');
    const { tcp } = slow;
    const before = tcp.bytesRead;
    slow.ws.pause();
    await moveAll(project);
    await hasAll(quick, USERS.length, atTheEnd);
    slow.ws.resume();
    const snapshots = () => eventsOf(slow.frames, watch).filter(({ type }) => type === 'snapshot');
    await slow.until('the new snapshot', () => snapshots().length === 2 || slow.close !== null);
    assert.equal(slow.close, null);
    await slow.ok('unwatch', { watch });
    const { users } = expectOk<{ users: unknown[] }>(
      await Browser.of(project, 'reader', 'g').get('/v1/client/presence'),
    );
    assert.deepEqual(ReaderModel.of(eventsOf(slow.frames, watch)).entries(), users);
    const received = tcp.bytesRead - before;
    assert.ok(received < SENT_BYTES / 2, `${received} bytes of ${SENT_BYTES}`);
  });

  test('a slow reader of presence, threads and messages on one socket gets a new snapshot of the lists, and each message as it is', async () => {
    const project = await seeded();
    expectOk(await project.put(threadPath('talk'), { groupID: 'g', name: 'T' }));
    using slow = await SocketClient.of(project, 'reader', 'g');
    using quick = await SocketClient.of(project, 'reader', 'g');
    const presence = await slow.ok('watch');
    await quick.ok('watch');
    const threads = await slow.ok('watch_threads');
    const messages = await slow.ok('watch_messages', { threadID: 'talk' });
    await quick.ok('watch_threads');
    await slow.until(
      'three snapshots',
      () => slow.frames.filter(({ event }) => event === 'snapshot').length === 3,
    );
    slow.ws.pause();
    await moveAll(project);
    for (const name of ['first', 'second']) {
      for (const id of USERS) {
        expectOk(await project.put(threadPath(id), { groupID: 'g', name, location: WIDE }));
        const content = markdown(name + 'x'.repeat(7_000));
        expectOk(await project.put(messagePath('talk', id), { authorID: id, content }));
      }
      await hasAll(quick, USERS.length, ({ event, data }) =>
        event === 'thread' && data.name === name ? data.id : null,
      );
    }
    slow.ws.resume();
    const snapshotsOf = (watch: number) =>
      eventsOf(slow.frames, watch).filter(({ type }) => type === 'snapshot');
    const lists = [presence, threads];
    await slow.until('the new snapshots', () => lists.every((watch) => snapshotsOf(watch).length === 2));
    const browser = Browser.of(project, 'reader', 'g');
    const list = expectOk<{ threads: { id: string }[] }>(await browser.get('/v1/client/threads'));
    assert.deepEqual(
      snapshotsOf(threads)[1]?.data.threads.map(({ id, name }: Record<string, string>) => [id, name]),
      list.threads.map(({ id, name }: Record<string, string>) => [id, name]),
    );
    const latest = () =>
      new Map(
        eventsOf(slow.frames, messages)
          .filter(({ type }) => type === 'message')
          .map(({ data }) => [data.id, data.content[0].children[0].text.slice(0, 6)]),
      );
    await slow.until('the messages', () => USERS.every((id) => latest().get(id) === 'second'));
  });

  test('an unwatch in the middle of a snapshot is answered, and the snapshot is sent to its end', async () => {
    const project = await seeded(CROWD);
    for (let line = 0; line < LOCATIONS_EACH; line += 1) {
      for (let first = 0; first < CROWD.length; first += 100) {
        const updates = CROWD.slice(first, first + 100).map((userID) => ({
          ...{ userID, groupID: 'g', location: { ...WIDE, line: `${line}` } },
        }));
        expectOk(await project.put('/v1/presence', { updates }));
      }
    }
    using slow = await SocketClient.of(project, 'reader', 'g');
    slow.ws.pause();
    slow.send({ op: 'watch', ref: WATCH });
    await until('the watch', async () => (await openPresenceStreams(project)) === 1);
    slow.send({ op: 'unwatch', ref: WATCH + 1, watch: WATCH });
    await until('the end of the watch', async () => (await openPresenceStreams(project)) === 0);
    slow.ws.resume();
    assert.deepEqual(await slow.answer(WATCH + 1), { ref: WATCH + 1, ok: true });
    const [snapshot] = eventsOf(slow.frames, WATCH);
    assert.equal(snapshot?.data.users.length, CROWD.length);
  });
});
