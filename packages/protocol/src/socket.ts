/** What both ends of `GET /v1/client/socket` name alike. */

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
