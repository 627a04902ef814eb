/** The socket of a page. Its frames are described in docs/socket.md. */
import { object } from '@rollcall/protocol';
import { retryLater } from '../../core/service-error.ts';
import { operationsOf } from '../operation.ts';
import { CLIENT_TAG } from './client.ts';

const operation = operationsOf('none', CLIENT_TAG);

const openSocket = operation('GET /v1/client/socket', {
  id: 'openSocket',
  summary: 'All that a page watches and holds, over one WebSocket',
  description:
    'Send the headers of RFC 6455 and the subprotocol `rollcall.v1`; the answer is 101. The first frame is `{"op": "auth", "ref": 1, "token": "…"}`; all frames are described in [`/asyncapi.json`](/asyncapi.json).',
  answer: {
    status: 101,
    schema: object({}),
    description: 'The connection is a WebSocket from then on.',
    example: {},
  },
  errors: {
    invalid_request:
      '`Sec-WebSocket-Key` is malformed, `Sec-WebSocket-Protocol` lacks the subprotocol, or the request has a body.',
  },
  statuses: {
    403: 'The `Origin` is neither that of this server nor one that the operator has named.',
    426: 'The request is not for a WebSocket of version 13.',
  },
  unavailable: 'Too many sockets have not logged in, or the server is stopping.',
  upgrade: {
    require({ request }, { sockets }) {
      sockets.requireUpgrade(request);
    },
    open({ request, logged }, socket, head, { sockets }) {
      sockets.upgrade(request, socket, head, logged);
    },
  },
  handle({ request }, { sockets }) {
    sockets.requireUpgrade(request);
    throw retryLater(
      'this connection cannot become a WebSocket now; open the WebSocket on a connection of its own',
    );
  },
});

export const socketOperations = [openSocket];
