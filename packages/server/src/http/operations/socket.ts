/** The socket of a page. Its frames are described in docs/socket.md. */
import { object } from '@rollcall/protocol';
import { operationsOf } from '../operation.ts';
import { CLIENT_TAG } from './client.ts';

const operation = operationsOf('none', CLIENT_TAG);

const openSocket = operation('GET /v1/client/socket', {
  id: 'openSocket',
  summary: 'All that a page watches and holds, over one WebSocket',
  description:
    'Send the headers of RFC 6455 and the subprotocol `rollcall.v1`; the answer is 101. The first frame is `{"op": "auth", "ref": 1, "token": "…"}`; all frames are described in [`/asyncapi.json`](/asyncapi.json). A request that is not for a WebSocket is answered 426.',
  answer: {
    status: 101,
    schema: object({}),
    description: 'The connection is a WebSocket from then on.',
    example: {},
  },
  unavailable: 'Too many sockets have not logged in, or the server is stopping.',
  handle({ request }, { sockets }) {
    sockets.requireUpgrade(request);
    throw new Error('the request was to be answered with a socket');
  },
});

export const socketOperations = [openSocket];
