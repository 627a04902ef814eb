/** What a socket holds, and how it ends. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { limits, type PresenceEntry } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { openSockets, SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';

const server = oneServer({ settings: { presenceTtlSeconds: 3 } });
const AT = { page: '1' };
const THERE = { page: '2' };

const seeded = () => server.projectWithGroup('g', 'a', 'b');

/** Where the user is, by a reading. */
async function locationsOf(project: Project, userId: string): Promise<unknown[]> {
  return (await project.get(`/v1/users/${userId}/presence?groupID=g`)).json<PresenceEntry>().ephemeral
    .locations;
}

describe('presence that a socket holds', () => {
  test('held presence needs no refreshing, and ends at once when the socket closes cleanly', async () => {
    const project = await seeded();
    using watcher = await SocketClient.of(project, 'b', 'g');
    await watcher.ok('watch');
    await watcher.event('snapshot');
    using socket = await SocketClient.of(project, 'a', 'g');
    await socket.ok('present', { location: AT });
    await watcher.event('arrived');
    const short = Browser.of(project, 'b', 'g');
    expectOk(await short.putPresence({ location: THERE }));
    await watcher.event('arrived');
    // The presence of the HTTP request ends by itself, and that of the socket is older.
    assert.equal((await watcher.event('departed')).data.id, 'b');
    await until('two lives of a presence', async () => {
      expectOk(await short.putPresence({ location: THERE }));
      await watcher.event('arrived');
      await watcher.event('departed');
      return true;
    });
    assert.deepEqual(await locationsOf(project, 'a'), [AT]);
    socket.ws.close();
    const departed = await watcher.event('departed');
    assert.deepEqual([departed.data.id, departed.data.reason], ['a', 'absent']);
  });

  test('an exclusive region of a socket has one location, and absent releases what this socket holds alone', async () => {
    const project = await seeded();
    using one = await SocketClient.of(project, 'a', 'g');
    using two = await SocketClient.of(project, 'a');
    const exclusiveWithin = { doc: 'd' };
    await one.ok('present', { location: { doc: 'd', ...AT }, exclusiveWithin });
    await one.ok('present', { location: { doc: 'd', ...THERE }, exclusiveWithin });
    assert.deepEqual(await locationsOf(project, 'a'), [{ doc: 'd', ...THERE }]);
    await one.ok('absent', { location: { doc: 'd', ...THERE } });
    await one.ok('present', { location: AT });
    await two.ok('present', { groupID: 'g', location: AT });
    await one.ok('absent', { location: AT });
    assert.deepEqual(await locationsOf(project, 'a'), [AT]);
    await two.ok('absent', { groupID: 'g', location: AT });
    assert.deepEqual(await locationsOf(project, 'a'), []);
  });

  test('an absence over HTTP clears what a socket holds, and the socket does not set it again', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    await socket.ok('present', { location: AT });
    expectOk(await Browser.of(project, 'a', 'g').putPresence({ location: AT, absent: true }));
    using watcher = await SocketClient.of(project, 'b', 'g');
    await watcher.ok('watch');
    assert.deepEqual((await watcher.event('snapshot')).data.users, []);
    // Longer than the time between two renewals of the lease.
    for (let life = 0; life < 2; life += 1) {
      expectOk(await Browser.of(project, 'b', 'g').putPresence({ location: THERE }));
      assert.equal((await watcher.event('arrived')).data.id, 'b');
      assert.equal((await watcher.event('departed')).data.id, 'b');
    }
    await socket.ok('present', { location: AT });
    assert.equal((await watcher.event('arrived')).data.id, 'a');
  });

  test('a connection that breaks is released within 2 s; one of the same connectionID keeps what it held', async () => {
    const project = await seeded();
    using watcher = await SocketClient.of(project, 'b', 'g');
    await watcher.ok('watch');
    await watcher.event('snapshot');
    const page = { connectionID: 'page-1' };
    using broken = await SocketClient.of(project, 'a', 'g', page);
    await broken.ok('present', { location: AT });
    await watcher.event('arrived');
    broken.ws.terminate();
    using back = await SocketClient.of(project, 'a', 'g', page);
    const other = Browser.of(project, 'b', 'g');
    expectOk(await other.putPresence({ location: THERE }));
    assert.equal((await watcher.event('arrived')).data.id, 'b');
    assert.equal((await watcher.event('departed')).data.id, 'b', 'a has not left meanwhile');
    assert.deepEqual(await locationsOf(project, 'a'), [AT]);
    back.ws.terminate();
    const { data } = await watcher.event('departed');
    assert.deepEqual([data.id, data.location], ['a', AT]);
  });

  test('data of a socket are shown with expand, and stay until an update replaces them', async () => {
    const project = await seeded();
    using watcher = await SocketClient.of(project, 'b', 'g');
    await watcher.ok('watch', { expand: 'data' });
    await watcher.event('snapshot');
    using socket = await SocketClient.of(project, 'a', 'g');
    await socket.ok('present', { location: AT, data: { x: 1 } });
    await watcher.event('arrived');
    assert.deepEqual((await watcher.event('data')).data, { id: 'a', location: AT, data: { x: 1 } });
    await socket.ok('present', { location: AT });
    await socket.ok('present', { location: AT, data: { x: 2 } });
    assert.deepEqual((await watcher.event('data')).data, { id: 'a', location: AT, data: { x: 2 } });
    await socket.fails('invalid_field', 'present', { location: AT, data: {}, durable: true }, 'data');
    await socket.fails('invalid_field', 'present', { location: AT, data: { x: 'y'.repeat(1_024) } }, 'data');
  });

  test('durable updates of one region are written once a second, and the last one counts', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    const at = (line: number) => ({ doc: 'd', line: `${line}` });
    const update = { op: 'present', durable: true, exclusiveWithin: { doc: 'd' } };
    for (let line = 1; line <= 20; line += 1) socket.send({ ...update, ref: 100 + line, location: at(line) });
    for (let line = 1; line <= 20; line += 1) await socket.answer(100 + line);
    assert.ok(
      socket.frames.slice(1).every(({ ok }) => ok === true),
      JSON.stringify(socket.frames),
    );
    const { durable } = (await project.get('/v1/users/a/presence?groupID=g')).json<PresenceEntry>();
    assert.deepEqual(durable?.location, at(20));
    await until('both changes to be visible', async () => {
      const answer = await project.get('/v1/changes?type=durable_presence.moved');
      return answer.json<{ changes: unknown[] }>().changes.length === 2;
    });
  });

  test('a durable update that is sent right before a clean close counts, also behind a frame that is not answered yet', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    socket.sendAndClose([
      ...[100, 101, 102].map((ref) => ({ op: 'watch', ref })),
      { op: 'present', ref: 103, durable: true, location: AT },
    ]);
    await until('the durable location', async () => {
      const { durable } = (await project.get('/v1/users/a/presence?groupID=g')).json<PresenceEntry>();
      return isDeepStrictEqual(durable?.location, AT);
    });
    await until('the socket to end', async () => (await openSockets(project)) === 0);
  });

  test('a socket holds 100 locations; one more is invalid_request, and one that it holds moves', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    const region = (index: number) => ({ exclusiveWithin: { doc: `${index}` } });
    const at = (index: number, line: string) => ({ location: { doc: `${index}`, line }, ...region(index) });
    for (let index = 0; index < limits.SOCKET_LOCATIONS_MAX; index += 1)
      await socket.ok('present', at(index, '1'));
    await socket.fails('invalid_request', 'present', at(100, '1'), '100');
    await socket.ok('present', at(7, '2'));
    await socket.ok('absent', { location: { doc: '8', line: '1' } });
    await socket.ok('present', at(100, '1'));
  });

  test('a location that an absence over HTTP has cleared does not count among the 100 of a socket', async () => {
    const project = await seeded();
    using watcher = await SocketClient.of(project, 'b', 'g');
    using socket = await SocketClient.of(project, 'a', 'g');
    const at = (index: number) => ({ location: { line: `${index}` } });
    for (let index = 0; index < limits.SOCKET_LOCATIONS_MAX; index += 1)
      await socket.ok('present', at(index));
    await socket.fails('invalid_request', 'present', at(100), '100');
    await watcher.ok('watch');
    await watcher.event('snapshot');
    expectOk(await Browser.of(project, 'a', 'g').putPresence({ ...at(7), absent: true }));
    await watcher.event('departed');
    await socket.ok('present', at(100));
    await socket.fails('invalid_request', 'present', at(7), '100');
  });

  test('two sockets of one connectionID hold 100 locations together; one more is invalid_request on both', async () => {
    const project = await seeded();
    const page = { connectionID: 'page-1' };
    using one = await SocketClient.of(project, 'a', 'g', page);
    using two = await SocketClient.of(project, 'a', 'g', page);
    const at = (index: number) => ({ location: { line: `${index}` } });
    for (let index = 0; index < limits.SOCKET_LOCATIONS_MAX; index += 1)
      await (index % 2 === 0 ? one : two).ok('present', at(index));
    for (const socket of [one, two]) await socket.fails('invalid_request', 'present', at(100), '100');
    await one.ok('absent', at(1));
    await two.ok('present', at(100));
    await one.fails('invalid_request', 'present', at(1), '100');
  });

  test('one of two sockets with the same connectionID that take the 100th location at once gets invalid_request', async () => {
    const project = await seeded();
    const page = { connectionID: 'page-1' };
    using one = await SocketClient.of(project, 'a', 'g', page);
    using two = await SocketClient.of(project, 'a', 'g', page);
    const at = (index: number) => ({ location: { line: `${index}` } });
    for (let index = 1; index < limits.SOCKET_LOCATIONS_MAX; index += 1) await one.ok('present', at(index));
    for (let round = 0; round < 20; round += 1) {
      const own = [at(2 * round + 100), at(2 * round + 101)] as const;
      const answers = await Promise.all([one.request('present', own[0]), two.request('present', own[1])]);
      assert.deepEqual(answers.map(({ error = 'ok' }) => error).sort(), ['invalid_request', 'ok']);
      for (const location of own) await one.ok('absent', location);
    }
  });
});
