import assert from 'node:assert/strict';
import { afterEach, before, describe, test } from 'node:test';
import type { MediaType } from '../../src/api-description/openapi-document.ts';
import type { Example } from '../../src/http/operation.ts';
import { Browser } from '../support/browser.ts';
import { markdown } from '../support/conversation.ts';
import { EventParser, type StreamEvent } from '../support/event-parser.ts';
import { expectDone } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { ApiDescription, type DescribedOperation } from './api-description.ts';

const server = oneServer();
const readers: StreamReader[] = [];
let api: ApiDescription;
let project: Project;
let browser: Browser;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
  project = await server.project();
  await project.seed({
    users: [{ id: 'ada', name: 'Ada' }, { id: 'grace' }],
    groups: [{ id: 'g', name: 'G', members: ['ada', 'grace'] }],
  });
  browser = Browser.of(project, 'ada', 'g');
});

afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});

/** An operation with a stream, the media type of the stream, and the pointer to the schema of its events. */
interface DescribedStream {
  readonly operation: DescribedOperation['operation'];
  readonly media: MediaType;
  readonly events: string;
}

function streamsOf(described: DescribedOperation): DescribedStream[] {
  const { operation } = described;
  if (operation.responses[200] === undefined) return [];
  const { value, pointer } = api.response(described, 200);
  const media = value.content?.['text/event-stream'];
  const events = `${pointer}/content/text~1event-stream/schema/contentSchema/items`;
  return media === undefined ? [] : [{ operation, media, events }];
}

const pointerOf = (operationId: string) => streamsOf(api.operation(operationId))[0]?.events as string;

/** Checks that the events are as described, and that they have all of these names. */
function expectEvents(operationId: string, events: readonly StreamEvent[], names: readonly string[]): void {
  const pointer = pointerOf(operationId);
  for (const { type, data, id } of events) {
    const event = { event: type, data, ...(id !== '' && { id }) };
    api.expectValid(pointer, event, `${operationId}: ${JSON.stringify(event)}`);
  }
  assert.deepEqual([...new Set(events.map(({ type }) => type))].sort(), [...names].sort());
}

async function open(path: string, token = project.token): Promise<StreamReader> {
  const reader = await StreamReader.open({ url: project.url, token }, path);
  readers.push(reader);
  await reader.until('the first bytes', () => reader.text.includes('\n\n'));
  return reader;
}

const has = (reader: StreamReader, type: string) =>
  reader.until(type, () => reader.of(type).length > 0 || reader.hasEnded);

describe('the events of streams', () => {
  test('every operation with a stream describes its events, each with the fields of server-sent events', () => {
    const described = api.operations.flatMap(streamsOf);
    assert.ok(described.length >= 8);
    for (const { operation, media } of described) {
      const { schema } = media;
      assert.deepEqual([schema.type, schema.contentMediaType], ['string', 'text/event-stream']);
      const { items } = schema.contentSchema as { items: { $ref: string } };
      assert.match(items.$ref, /StreamEvent$/, operation.operationId);
    }
  });

  test('the events of every described example of a stream are as described', () => {
    for (const { operation, media } of api.operations.flatMap(streamsOf)) {
      const parser = new EventParser();
      const [example] = Object.values(media.examples ?? {}) as Example[];
      parser.take(String(example?.value));
      assert.ok(parser.events.length > 0);
      const names = parser.events.map(({ type }) => type);
      expectEvents(operation.operationId, parser.events, names);
    }
  });

  test('an event of another name, with other data or without an ID is not as described', () => {
    const validate = api.validator(pointerOf('listGroupPresence'));
    const data = { id: 'ada', location: { page: '1' }, reason: 'expired' };
    assert.ok(validate({ event: 'departed', data, id: '1' }));
    for (const event of [
      { event: 'left', data, id: '1' },
      { event: 'departed', data },
      { event: 'departed', data: { ...data, reason: 'bored' }, id: '1' },
      { event: 'snapshot', data, id: '1' },
    ])
      assert.ok(!validate(event), JSON.stringify(event));
  });

  test('a stream of presence sends events as described', async () => {
    const query = '?expand=data,user';
    const paths = { listGroupPresence: '/v1/groups/g/presence', listClientPresence: '/v1/client/presence' };
    const host = await open(paths.listGroupPresence + query);
    const page = await open(paths.listClientPresence + query, browser.token);
    for (const reader of [host, page]) await reader.snapshot();
    const put = (body: object) => project.put('/v1/users/grace/presence', { groupID: 'g', ...body });
    const location = { page: '1' };
    expectDone(await put({ location, data: { cursor: 1 } }));
    expectDone(await put({ location, data: { cursor: 2 } }));
    expectDone(await put({ location, durable: true }));
    for (const reader of [host, page])
      for (const type of ['arrived', 'data', 'durable']) await has(reader, type);
    expectDone(await project.put('/v1/users/grace', { name: 'Grace' }));
    for (const reader of [host, page]) await has(reader, 'user');
    expectDone(await put({ location, absent: true }));
    for (const reader of [host, page]) await has(reader, 'departed');
    const names = ['snapshot', 'arrived', 'data', 'durable', 'user', 'departed'];
    expectEvents('listGroupPresence', host.events, names);
    expectEvents('listClientPresence', page.events, names);
  });

  test('streams of threads, messages and changes send events as described', async () => {
    expectDone(await project.put('/v1/threads/t', { groupID: 'g', name: 'T', location: { page: '1' } }));
    const opened = {
      listThreads: await open('/v1/threads?groupID=g'),
      listClientThreads: await open('/v1/client/threads', browser.token),
      listMessages: await open('/v1/threads/t/messages'),
      listClientMessages: await open('/v1/client/threads/t/messages', browser.token),
      listChanges: await open('/v1/changes?after=latest'),
    };
    const all = async (type: string, ids: readonly (keyof typeof opened)[]) => {
      for (const id of ids) await has(opened[id], type);
    };
    await all('snapshot', ['listThreads', 'listClientThreads', 'listMessages', 'listClientMessages']);
    const message = '/v1/threads/t/messages/m';
    expectDone(await project.put(message, { authorID: 'grace', content: markdown('In') }));
    await all('message', ['listMessages', 'listClientMessages']);
    assert.equal((await project.post(`${message}/append`, { text: ' June' })).status, 200);
    await all('appended', ['listMessages', 'listClientMessages']);
    expectDone(await project.put('/v1/threads/t', { resolved: true }));
    await all('thread', ['listThreads', 'listClientThreads', 'listMessages', 'listClientMessages']);
    expectDone(await project.delete(message));
    await all('removed', ['listMessages', 'listClientMessages']);
    expectDone(await project.delete('/v1/threads/t'));
    await all('removed', ['listThreads', 'listClientThreads']);
    await all('error', ['listMessages', 'listClientMessages']);
    await all('thread.removed', ['listChanges']);
    for (const id of ['listThreads', 'listClientThreads'] as const)
      expectEvents(id, opened[id].events, ['snapshot', 'thread', 'removed']);
    for (const id of ['listMessages', 'listClientMessages'] as const)
      expectEvents(id, opened[id].events, ['snapshot', 'message', 'appended', 'thread', 'removed', 'error']);
    const { events } = opened.listChanges;
    const types = [
      'message.created',
      'message.appended',
      'thread.updated',
      'message.removed',
      'thread.removed',
    ];
    expectEvents('listChanges', events, types);
  });
});
