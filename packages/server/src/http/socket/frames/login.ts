/** The frame with a token. */
import { ConnectionId, maybe, meaning, text } from '@rollcall/protocol';
import { defineFrame } from '../frame-definition.ts';
import { verifyLogin } from '../socket-login.ts';

const auth = defineFrame('auth', {
  summary: 'Log in, or renew the token: the first frame',
  example: { ref: 1, token: 'eyJhbGciOiJIUzUxMiJ9.…' },
  fields: {
    token: meaning(text({ description: 'a client token' }), 'The client token.'),
    connectionID: meaning(
      maybe(ConnectionId),
      'Names the page. A socket of the same page that is back within 2 seconds keeps what it held.',
    ),
  },
  isLogin: true,
  authorize: ({ token }, { services, requestId }) => verifyLogin(services, token, requestId),
  handle: ({ connectionID }, verified, socket) => socket.logIn(connectionID, verified),
});

export const loginFrames = [auth];
