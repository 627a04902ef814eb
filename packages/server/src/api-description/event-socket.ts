/** The socket in the description of events: its frames are those that the server checks. */
import {
  constant,
  integer,
  meaning,
  number,
  object,
  type Schema,
  SOCKET_CLOSES,
  SOCKET_PROTOCOL,
  text,
} from '@rollcall/protocol';
import type { AnyOperation } from '../http/operation.ts';
import { Failure } from '../http/schemas.ts';
import { FRAMES } from '../http/socket/frames/all-frames.ts';
import { type Channel, type EventOperation, inChannel, type Message } from './event-description.ts';
import { documentedPath } from './paths.ts';
import type { SchemaComponents } from './schema-components.ts';

const ID = 'socket';

/** Why the server closes a socket. */
const CLOSES: Readonly<Record<keyof typeof SOCKET_CLOSES, string>> = {
  binaryFrame: 'a binary frame',
  tokenEnded: 'the token has ended, or is not valid any more: get another one',
  forbidden: "the user, or the token's only group, is gone",
  notLoggedIn: 'no `auth` in time',
  serverStopping: 'the server stops: connect again at once',
  tooFast: 'too many frames, or too many sockets of one user',
};

const closeCodes = Object.entries(SOCKET_CLOSES).map(
  ([name, code]) => `- ${code}: ${CLOSES[name as keyof typeof SOCKET_CLOSES]}`,
);

const DESCRIPTION = `
One connection for all that a page watches and holds. Offer the subprotocol \`${SOCKET_PROTOCOL}\`. Each frame is one JSON object in
a text message. Every frame of the client has a \`ref\` of its choosing, which the answer repeats; that of a watch names the watch.

The server closes with these codes:

${closeCodes.join('\n')}

And with those of RFC 6455: 1007 for text that is not UTF-8, 1008 for too many fragments, 1009 for more than 64 KiB.`.trim();

const watch = meaning(number(), 'The `ref` of the watch.');

/** What the server sends, apart from the events of watches. */
const NOTICES: Readonly<Record<string, Schema>> = {
  done: object(
    { ref: meaning(number(), 'That of the frame.'), ok: meaning(constant(true), 'Always true.') },
    { 'x-meaning': 'The frame took effect.' },
  ),
  rejected: object(
    {
      ref: meaning({ type: ['number', 'null'] }, 'That of the frame; null where it has none.'),
      ...Failure.properties,
    },
    { 'x-meaning': 'The frame was rejected.' },
  ),
  ended: object(
    {
      watch,
      event: meaning(constant('ended'), 'The name of the event.'),
      data: meaning(Failure, 'Why it has ended.'),
    },
    { 'x-meaning': "The watch has ended: its group or thread is gone, or is not the user's any more." },
  ),
  expiring: object(
    {
      event: meaning(constant('expiring'), 'The name of the event.'),
      in: meaning(
        integer({ minimum: 0 }),
        'In so many seconds the token ends, and the socket is closed with 4401.',
      ),
    },
    { 'x-meaning': 'The token ends soon: send `auth` with another one.' },
  ),
};

/** An event of a watch: the same `data` as in a stream. */
const eventFrame = (name: string, data: Schema) =>
  object({
    watch,
    event: meaning(constant(name), 'The name of the event.'),
    id: meaning(text(), 'Where the watch goes on: send it as `after`.'),
    data: meaning(data, 'What happened.'),
  });

/** The channel of the operation that opens the socket, and what is sent over it in both directions. */
export function describeSocket(defined: readonly AnyOperation[], schemas: SchemaComponents) {
  const opening = defined.find(({ upgrade }) => upgrade !== undefined);
  if (opening === undefined) throw new Error('no operation opens a socket');
  const messages: Record<string, Message> = {};
  const operations: Record<string, EventOperation> = {};
  const add = (key: string, schema: Schema, more: Partial<Message> = {}) => {
    messages[key] = { name: key, ...more, payload: schemas.describe(schema) };
    return key;
  };
  const to = (...keys: string[]) => inChannel(ID, keys);
  for (const [name, schema] of Object.entries(NOTICES))
    add(name, schema, { summary: String(schema['x-meaning']) });
  for (const { op, schema, summary, example, events } of FRAMES) {
    add(op, schema, { summary, examples: [{ payload: { op, ...example } }] });
    operations[op] = { action: 'receive', summary, ...to(op), reply: to('done', 'rejected') };
    if (events === undefined) continue;
    const keys = Object.entries(events).map(([name, data]) =>
      add(`${op}.${name}`, eventFrame(name, data), { summary: `The event \`${name}\` of \`${op}\`.` }),
    );
    operations[`${op}.events`] = { action: 'send', summary: `The events of \`${op}\``, ...to(...keys) };
  }
  operations.notices = { action: 'send', summary: 'What comes by itself', ...to('ended', 'expiring') };
  const headers = {
    type: 'object',
    properties: { 'Sec-WebSocket-Protocol': { type: 'string', const: SOCKET_PROTOCOL } },
    required: ['Sec-WebSocket-Protocol'],
  };
  const channel: Channel = {
    address: documentedPath(opening.path),
    title: 'The socket of a page',
    description: DESCRIPTION,
    servers: [{ $ref: '#/servers/socket' }],
    messages,
    // Without a version, the newest one of the binding holds.
    bindings: { ws: { method: 'GET', headers } },
  };
  return { channels: { [ID]: channel }, operations };
}
