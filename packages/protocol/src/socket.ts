/** The frames that a page sends over `GET /v1/client/socket`: one JSON object in each text message. */

import { ConnectionId, Expand, PresenceData } from './presence.ts';
import {
  constant,
  exactly,
  integer,
  maybe,
  meaning,
  number,
  type ObjectSchema,
  type Static,
  text,
} from './schema.ts';
import { Flag, Id, Location } from './values.ts';

/** The subprotocol that a client offers. */
export const SOCKET_PROTOCOL = 'rollcall.v1';

/** The close codes of the contract; those below 4000 are of RFC 6455. */
export const SOCKET_CLOSES = {
  binaryFrame: 1003,
  tokenEnded: 4401,
  forbidden: 4403,
  notLoggedIn: 4408,
  serverStopping: 4409,
  tooFast: 4429,
} as const;

const ref = meaning(
  number({ description: 'a number' }),
  'A number of the client: the answer repeats it. That of a watch names the watch.',
);
const groupID = meaning(maybe(Id), 'The group. Required where the token names none.');
const location = meaning(Location, 'Where the user is.');
const after = meaning(
  maybe(text({ description: 'the id of an event' })),
  'The ID of the last event that the client has: the watch goes on after it where it can.',
);

/** A frame with these fields besides `op` and `ref`. */
const frame = <const Op extends string, const P extends Parameters<typeof exactly>[0]>(op: Op, fields: P) =>
  exactly({ op: constant(op, { description: `"${op}"` }), ref, ...fields });

/** The filter of a presence watch: that of the reading. */
const presenceFilter = {
  location: meaning(maybe(Location), 'Only who is exactly there.'),
  partial_match: meaning(maybe(Flag), 'Also locations that have every pair of `location`, and more.'),
  exclude_durable: meaning(maybe(Flag), 'Leave durable presence out.'),
  expand: meaning(maybe(Expand), 'What to show beside locations: `data`, `user`, or both.'),
};

/** Each operation of a socket, and the fields of its frame. */
export const SOCKET_FRAMES = {
  auth: frame('auth', {
    token: meaning(text({ description: 'a client token' }), 'The client token.'),
    connectionID: meaning(
      maybe(ConnectionId),
      'Names the page. A socket of the same page that is back within 2 seconds keeps what it held.',
    ),
  }),
  watch: frame('watch', { groupID, ...presenceFilter, after }),
  watch_messages: frame('watch_messages', {
    threadID: meaning(Id, 'The thread.'),
    limit: meaning(
      maybe(integer({ minimum: 1, maximum: 1_000, description: 'a whole number from 1 to 1000' })),
      'How many messages the snapshot has at most.',
    ),
    after,
  }),
  watch_threads: frame('watch_threads', {
    groupID,
    location: meaning(maybe(Location), 'Only threads about exactly this.'),
    partial_match: presenceFilter.partial_match,
    resolved: meaning(maybe(Flag), 'Only threads that are resolved, or (false) that are not.'),
    after,
  }),
  unwatch: frame('unwatch', {
    watch: meaning(number({ description: 'the ref of a watch' }), 'The watch that ends.'),
  }),
  present: frame('present', {
    groupID,
    location,
    exclusiveWithin: meaning(
      maybe(Location),
      'A region: the user is at one location in it only, and `location` has every pair of it.',
    ),
    durable: meaning(maybe(Flag), 'Stored with its time until it is replaced.'),
    data: meaning(
      maybe(PresenceData),
      'What others see beside the location. Absent: unchanged. `null` clears it.',
    ),
  }),
  absent: frame('absent', { groupID, location }),
} as const;

export type SocketOp = keyof typeof SOCKET_FRAMES;
/** A checked frame of an operation. */
export type SocketFrame<Op extends SocketOp = SocketOp> = {
  readonly [Name in Op]: (typeof SOCKET_FRAMES)[Name] extends ObjectSchema<infer P>
    ? Static<ObjectSchema<P>>
    : never;
}[Op];
