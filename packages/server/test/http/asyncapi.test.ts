import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { SOCKET_CLOSES } from '@rollcall/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/api-description/build-document.ts';
import type { EventDocument } from '../../src/api-description/build-event-document.ts';
import type { Channel, EventOperation } from '../../src/api-description/event-description.ts';
import { OPERATIONS } from '../../src/http/operations/all-operations.ts';
import { FRAMES } from '../../src/http/socket/frames/all-frames.ts';
import { Browser } from '../support/browser.ts';
import { markdown } from '../support/conversation.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { SocketClient } from '../support/socket-client.ts';

const server = oneServer();
let document: EventDocument;
let channels: Readonly<Record<string, Channel>>;
let operations: Readonly<Record<string, EventOperation>>;
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

before(async () => {
  const { request } = await server.started;
  document = expectOk<EventDocument>(await request('GET', '/asyncapi.json'));
  ({ channels, operations } = document);
  ajv.addSchema(document, 'asyncapi.json');
});

const payloadOf = (channel: string, message: string) =>
  ajv.compile({ $ref: `asyncapi.json#/channels/${channel}/messages/${message}/payload` });

function expectPayload(channel: string, message: string, payload: unknown): void {
  const validate = payloadOf(channel, message);
  assert.ok(validate(payload), `${channel} ${message}: ${ajv.errorsText(validate.errors)}`);
}

/** The project that the examples of frames are about. */
async function exampleProject(): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: [{ id: 'ada', name: 'Ada' }, { id: 'grace' }],
    groups: [{ id: 'analysts', name: 'Analysts', members: ['ada', 'grace'] }],
  });
  expectDone(await project.put('/v1/threads/launch', { groupID: 'analysts', name: 'Launch date' }));
  return project;
}

const messagesOf = (operation: string) =>
  operations[operation]?.messages.map(({ $ref }) => $ref.split('/').at(-1) as string) ?? [];

describe('/asyncapi.json', () => {
  test('/asyncapi.json has the socket, and every operation that can be a stream', () => {
    const streamed = OPERATIONS.filter(({ answer }) => answer.stream !== undefined);
    assert.ok(streamed.length >= 7);
    assert.deepEqual(Object.keys(channels).sort(), ['socket', ...streamed.map(({ id }) => id)].sort());
    for (const { id, answer } of streamed) {
      const events = Object.keys(answer.stream?.events ?? {});
      assert.deepEqual(messagesOf(`${id}.events`), [...events, 'error'], id);
      assert.equal(operations[`${id}.events`]?.action, 'send');
    }
  });

  test('/asyncapi.json has every frame of a client, and every code with which the server closes a socket', () => {
    const received = Object.keys(operations).filter((id) => operations[id]?.action === 'receive');
    assert.deepEqual(received.sort(), FRAMES.map(({ op }) => op).sort());
    for (const id of received) assert.deepEqual(messagesOf(id), [id]);
    for (const code of Object.values(SOCKET_CLOSES))
      assert.ok(channels.socket?.description.includes(`\n- ${code}: `), String(code));
  });

  test('every reference of /asyncapi.json leads somewhere', () => {
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"\$ref":"#([^"]+)"/g)].map(([, pointer]) => pointer as string);
    assert.ok(references.length > 100);
    for (const pointer of new Set(references)) {
      const steps = pointer.slice(1).split('/');
      const target = steps.reduce<unknown>(
        (inside, step) => (inside as Record<string, unknown>)?.[step],
        document,
      );
      assert.notEqual(target, undefined, pointer);
    }
  });

  test('a schema of /asyncapi.json is that of /openapi.json where both have it', async () => {
    const { request } = server.running;
    const { components } = expectOk<OpenApiDocument>(await request('GET', '/openapi.json'));
    const shared = Object.entries(document.components.schemas).filter(([name]) => name in components.schemas);
    assert.ok(shared.length > 20);
    for (const [name, schema] of shared) assert.deepEqual(schema, components.schemas[name], name);
  });

  test('the examples of the events of streams match their schemas', () => {
    let count = 0;
    for (const [id, { messages }] of Object.entries(channels))
      for (const [name, { examples = [] }] of Object.entries(messages))
        for (const { payload } of examples) {
          count += 1;
          expectPayload(id, name, payload);
        }
    assert.ok(count > 20);
  });
});

describe('a socket and /asyncapi.json', () => {
  test('the server takes the example of every frame, and rejects what the schemas of frames reject', async () => {
    const project = await exampleProject();
    const { token } = Browser.of(project, 'ada');
    using socket = await SocketClient.open(project.url);
    // The frame that logs in is the first of them.
    for (const { op } of FRAMES) {
      const [example] = channels.socket?.messages[op]?.examples ?? [];
      const frame: Record<string, unknown> = { ...example?.payload, ...(op === 'auth' && { token }) };
      const ref = Number(frame.ref);
      socket.send(frame);
      assert.deepEqual(await socket.answer(ref), { ref, ok: true }, op);
      const wrong = { ...frame, ref: ref + 100, nick: 1 };
      assert.equal(payloadOf('socket', op)(wrong), false, op);
      socket.send(wrong);
      assert.equal((await socket.answer(ref + 100)).error, 'unexpected_field');
    }
  });

  test('every frame that the server sends is as described', async () => {
    const project = await exampleProject();
    using socket = await SocketClient.of(project, 'ada');
    const watches = {
      watch: await socket.ok('watch', { groupID: 'analysts', expand: 'data,user' }),
      watch_threads: await socket.ok('watch_threads', { groupID: 'analysts' }),
      watch_messages: await socket.ok('watch_messages', { threadID: 'launch' }),
    };
    const has = (op: keyof typeof watches, event: string) =>
      socket.until(`${op} ${event}`, () =>
        socket.frames.some((frame) => frame.watch === watches[op] && frame.event === event),
      );
    const location = { page: 'q3-report' };
    await socket.ok('present', { groupID: 'analysts', location, data: { cursor: 1 } });
    await socket.ok('present', { groupID: 'analysts', location, durable: true });
    await socket.ok('absent', { groupID: 'analysts', location });
    await has('watch', 'departed');
    const message = '/v1/threads/launch/messages/81';
    expectDone(await project.put(message, { authorID: 'grace', content: markdown('In') }));
    await has('watch_messages', 'message');
    assert.equal((await project.post(`${message}/append`, { text: ' June' })).status, 200);
    await has('watch_messages', 'appended');
    await has('watch_threads', 'thread');
    expectDone(await project.put('/v1/threads/launch', { resolved: true }));
    await has('watch_messages', 'thread');
    expectDone(await project.delete('/v1/threads/launch'));
    await has('watch_messages', 'ended');
    await has('watch_threads', 'removed');
    await socket.fails('thread_not_found', 'watch_messages', { threadID: 'none' });
    const names = new Map(Object.entries(watches).map(([op, ref]) => [ref, op]));
    const described = socket.frames.map((frame) => {
      const { watch, event, ok, error } = frame;
      const isEvent = watch !== undefined && event !== 'ended';
      const name = isEvent ? `${names.get(watch)}.${event}` : (event ?? (ok ? 'done' : error && 'rejected'));
      expectPayload('socket', name, frame);
      return name;
    });
    for (const name of ['done', 'rejected', 'ended', 'watch.snapshot', 'watch.arrived', 'watch.durable'])
      assert.ok(described.includes(name), name);
    for (const name of ['watch_threads.snapshot', 'watch_messages.snapshot', 'watch_messages.thread'])
      assert.ok(described.includes(name), name);
  });

  test('the frame about a token that ends is as described', () => {
    expectPayload('socket', 'expiring', { event: 'expiring', in: 60 });
    assert.ok(!payloadOf('socket', 'expiring')({ event: 'expiring' }));
  });
});
