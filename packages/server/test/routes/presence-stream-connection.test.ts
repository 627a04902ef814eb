import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { LINE, PAGE_1, PAGE_2, StreamCase } from '../realtime/stream-case.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { Project } from '../support/project-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { withServer } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const streams = new StreamCase();
const { clock, server } = streams;
const STREAM = { accept: 'text/event-stream' };
const path = '/v1/groups/g/presence';

describe('the answer that is a stream', () => {
  test('a presence stream has the headers of one, and the ID of its request', async () => {
    const p = await streams.presence('a');
    const reader = await streams.open(p, {}, { 'x-request-id': 'mine' });
    assert.equal(reader.status, 200);
    assert.match(String(reader.headers['content-type']), /^text\/event-stream/);
    assert.equal(reader.headers['cache-control'], 'no-store');
    assert.equal(reader.headers['x-accel-buffering'], 'no');
    assert.equal(reader.headers['x-request-id'], 'mine');
    assert.ok(reader.headers.date !== undefined);
  });

  test('a presence stream has one retry field, with a different time for different clients', async () => {
    const p = await streams.presence('a');
    const readers = await Promise.all(Array.from({ length: 8 }, () => streams.watch(p)));
    const waits = readers.map(({ parser }) => parser.retryMs ?? 0);
    assert.ok(
      waits.every((ms) => ms >= 1_000 && ms <= 3_000),
      `${waits}`,
    );
    assert.ok(new Set(waits).size > 1, `${waits}`);
    assert.equal(readers[0]?.text.match(/retry:/g)?.length, 1);
  });

  test('a presence stream has a comment every 15 seconds', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    for (let count = 1; count <= 3; count += 1) {
      assert.equal(reader.parser.comments, count - 1);
      clock.move(15_000);
      await reader.until(`comment ${count}`, () => reader.parser.comments === count);
    }
    assert.equal(reader.events.length, 1, 'a comment is no event');
  });

  test('a presence stream can be read by clients of HTTP/1.0 too', async () => {
    const p = await streams.presence('a');
    const connection = new RawConnection(server.raw.url);
    connection.write(
      `GET ${path} HTTP/1.0\r\nAuthorization: Bearer ${p.project.token}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    assert.match(await connection.received((text) => text.includes(']}\n')), /event: snapshot\n/);
    await p.set('a', PAGE_1);
    assert.match(await connection.received((text) => text.includes('event: arrived')), /"id":"a"/);
    connection.destroy();
  });

  test('a request behind another one on its connection is not answered with a presence stream', async () => {
    const p = await streams.presence('a');
    const connection = new RawConnection(server.raw.url);
    const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${p.project.token}\r\n`;
    connection.write(`GET ${path} ${head}\r\nGET ${path} ${head}Accept: text/event-stream\r\n\r\n`);
    const text = await connection.received(
      (all) => all.includes('snapshot') || all.includes('invalid_request'),
    );
    assert.match(text, /"users":\[\]/);
    connection.destroy();
  });

  test('the answer to HEAD is the reading, and so is that without Accept: text/event-stream', async () => {
    const p = await streams.presence('a');
    const head = await p.project.send('HEAD', path, undefined, STREAM);
    assert.equal(head.status, 200);
    assert.match(String(head.headers['content-type']), /^application\/json/);
    for (const accept of [
      '*/*',
      'application/json',
      'text/event-stream;q=0.1, application/json',
      'text/html',
    ]) {
      assert.deepEqual(Object.keys(expectOk<object>(await p.project.get(path, { accept }))), [
        'users',
        'pagination',
      ]);
    }
    expectError(await p.project.send('POST', path, '{}', STREAM), 405, 'invalid_request');
  });

  test('a presence stream can be opened under the older name of groups', async () => {
    const p = await streams.presence('a');
    using reader = await StreamReader.open(p.project, '/v1/organizations/g/presence');
    await reader.snapshot();
    expectDone(await p.project.delete('/v1/groups/g'));
    await reader.ended();
    assert.equal(reader.events.at(-1)?.data.error, 'organization_not_found');
  });

  test('a presence stream takes user and group IDs with any characters', async () => {
    const id = 'a "\\/\u{1f600}: \u2028x';
    const p = await streams.presence('b');
    await p.project.seed({ users: [{ id }], groups: [{ id, name: 'G', members: [id] }] });
    using reader = await StreamReader.open(p.project, `/v1/groups/${encodeURIComponent(id)}/presence`);
    await reader.snapshot();
    const location = { [id]: 'x\n\r\n\nevent: y\ndata: {}\u2029' };
    expectDone(await p.put(id, { groupID: id, location }));
    const [event] = await reader.changes(1);
    assert.deepEqual(event?.data, { id, location });
  });
});

describe('a rejected stream is answered in JSON', () => {
  test('a stream without a token, and with a wrong one, is rejected in JSON', async () => {
    for (const headers of [STREAM, { ...STREAM, authorization: 'Bearer x' }]) {
      const answer = await send(server.raw.url, 'GET', path, { headers });
      assert.equal(answer.status, 401);
      assert.match(String(answer.headers['content-type']), /^application\/json/);
    }
  });

  test('a stream of a group that does not exist is group_not_found in JSON', async () => {
    const p = await streams.presence('a');
    expectNotFound(await p.project.get('/v1/groups/nowhere/presence', STREAM), 'group_not_found', 'nowhere');
    const answer = await p.project.get('/v1/organizations/nowhere/presence', STREAM);
    expectNotFound(answer, 'organization_not_found', 'nowhere');
  });

  test('a stream with a parameter of pages is invalid_field, and with an unknown one unexpected_field, in JSON', async () => {
    const p = await streams.presence('a', 'b');
    for (const id of ['a', 'b']) await p.set(id, PAGE_1);
    const { token } = (await p.page({ limit: '1' })).pagination;
    for (const query of ['limit=5', `token=${token}`, 'count_only=true', 'count_only=false']) {
      const name = query.split('=')[0] as string;
      expectError(await p.project.get(`${path}?${query}`, STREAM), 400, 'invalid_field', name);
    }
    expectError(await p.project.get(`${path}?x=1`, STREAM), 400, 'unexpected_field', 'x');
    expectError(await p.project.get(`${path}?location=x`, STREAM), 400, 'invalid_field', 'location');
  });
});

describe('streams and the server', () => {
  const metric = async () => {
    const { text } = await send(server.raw.url, 'GET', '/metrics');
    return Number(/^rollcall_presence_streams (\d+)$/m.exec(text)?.[1]);
  };

  test('presence streams are counted while they are open, and as requests', async () => {
    const p = await streams.presence('a');
    const before = await metric();
    const reader = await streams.watch(p);
    assert.equal(await metric(), before + 1);
    const { text } = await send(server.raw.url, 'GET', '/metrics');
    assert.match(
      text,
      /duration_seconds_count\{method="GET",route="\/v1\/groups\/:id\/presence",status="200"\} [1-9]/,
    );
    reader.close();
    await until('the end of the stream', async () => (await metric()) === before);
  });

  test('presence streams end at once when the server stops', async () => {
    let ends: Promise<unknown> = Promise.resolve();
    // A stop that waited for the streams would take this long.
    const drainMs = 2 ** 31 - 1;
    await withServer({ drainMs }, async (server) => {
      const project = Project.of(server);
      await project.seedGroup('g', 'a');
      const readers = await Promise.all(Array.from({ length: 20 }, () => StreamReader.open(project, path)));
      for (const reader of readers) await reader.snapshot();
      project.close();
      ends = Promise.all(readers.map((reader) => reader.ended()));
    });
    await ends;
  });

  test('a client that never reads its presence stream is disconnected, and the others receive every event', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `u${index + 100}`);
    const p = await streams.presence(...ids);
    const reader = await streams.watch(p);
    const before = await metric();
    const { hostname, port } = new URL(server.raw.url);
    // Without a listener for data, a socket reads a little and then no more.
    const idle = connect(Number(port), hostname);
    idle.on('error', () => {});
    idle.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${p.project.token}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    await until('the other stream', async () => (await metric()) > before);
    const wide = 'x'.repeat(1_000);
    let changes = 0;
    for (let round = 0; (await metric()) > before; round += 1) {
      assert.ok(round < 200, 'the reader is never cut off');
      const updates = ids.map((userID) => ({
        userID,
        groupID: 'g',
        location: { page: '1', line: `${round}`, wide },
        exclusiveWithin: PAGE_1,
      }));
      expectOk(await p.project.put('/v1/presence', { updates }));
      // The budget of socket writes fills with time.
      clock.move(100);
      changes += ids.length;
    }
    await reader.changes(changes);
    idle.destroy();
  });

  test('presence streams have a whole snapshot however long it is, and continue after it', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `u${index}`);
    const p = await streams.presence(...ids);
    const keys = Array.from({ length: 8 }, (_, index) => [`key${index}`, 'x'.repeat(1_000)]);
    const location = Object.fromEntries(keys);
    // The body of a request is at most 1 MiB.
    for (let from = 0; from < ids.length; from += 100) {
      const updates = ids.slice(from, from + 100).map((userID) => ({ userID, groupID: 'g', location }));
      expectOk(await p.project.put('/v1/presence', { updates }));
    }
    // More than a socket sends at once.
    const reader = await streams.open(p);
    await p.set('u0', PAGE_1);
    const { data } = await reader.snapshot();
    assert.equal(data.users.length, ids.length);
    assert.ok(reader.text.length > 8_000_000, `${reader.text.length}`);
    const [event] = await reader.changes(1);
    assert.deepEqual(event?.data, { id: 'u0', location: PAGE_1 });
  });

  test('presence streams answer like others while many of them are open', async () => {
    const p = await streams.presence('a');
    const readers = await Promise.all(Array.from({ length: 100 }, () => streams.watch(p)));
    await p.set('a', PAGE_1);
    await p.set('a', LINE, { exclusiveWithin: PAGE_1 });
    await p.set('a', PAGE_2);
    const texts = new Set<string>();
    for (const reader of readers) texts.add(JSON.stringify(await reader.changes(3)));
    assert.equal(texts.size, 1, 'all get the same events');
  });
});
