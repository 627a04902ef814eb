import type { IncomingMessage } from 'node:http';
import { SOCKET_PROTOCOL } from '@rollcall/protocol';
import { retryLater, ServiceError, stopping } from '../../core/service-error.ts';
import { hasDeclaredBody } from '../bodies/receive-body.ts';

/** The version of RFC 6455. */
const VERSION = '13';
const KEY = /^[+/0-9A-Za-z]{22}==$/;
/** A token of a list (RFC 9110, section 5.6). */
const NAME = /^[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*$/;

interface State {
  /** The setting: origins separated by commas, `*` for all, or null. */
  readonly origins: string | null;
  /** As many sockets as may be have not logged in. */
  readonly isFull: boolean;
  readonly isStopping: boolean;
}

/** @throws ServiceError why the request cannot be answered with a socket */
export function requireUpgrade(
  { method, headers, httpVersion }: IncomingMessage,
  { origins, isFull, isStopping }: State,
): void {
  const isHandshake =
    method === 'GET' &&
    httpVersion === '1.1' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    isListed(headers.connection, 'upgrade');
  if (!isHandshake) {
    const message =
      'this path answers a WebSocket only: send GET with Connection: Upgrade and Upgrade: websocket';
    throw new ServiceError('invalid_request', message, { status: 426, headers: { Upgrade: 'websocket' } });
  }
  if (headers['sec-websocket-version'] !== VERSION) {
    const message = `Sec-WebSocket-Version is ${VERSION} here`;
    throw new ServiceError('invalid_request', message, {
      status: 426,
      headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': VERSION },
    });
  }
  // Node hands over a stream in place of the connection then. It counts no bytes, so a client that vanishes would not be noticed.
  if (hasDeclaredBody(headers))
    throw new ServiceError('invalid_request', 'a request for a WebSocket has no body');
  if (!KEY.test(headers['sec-websocket-key'] ?? ''))
    throw new ServiceError('invalid_request', 'Sec-WebSocket-Key is 16 bytes in base64');
  if (!offersProtocol(headers['sec-websocket-protocol']))
    throw new ServiceError(
      'invalid_request',
      `the subprotocol (Sec-WebSocket-Protocol) is ${SOCKET_PROTOCOL}, named once`,
    );
  if (!isAllowed(headers.origin, headers.host, origins))
    throw new ServiceError(
      'invalid_request',
      'pages of this origin may not connect: the operator names it in ROLLCALL_CORS_ORIGINS',
      { status: 403 },
    );
  if (isStopping) throw stopping();
  if (isFull) throw retryLater('too many sockets have not logged in yet; try again');
}

const isListed = (header: string | undefined, value: string) =>
  header?.split(',').some((one) => one.trim().toLowerCase() === value) === true;

/** Names of subprotocols are case-sensitive tokens, and each is named once (RFC 6455 section 4.1). */
function offersProtocol(header = ''): boolean {
  const names = header.split(',').map((name) => NAME.exec(name)?.[1]);
  return (
    names.includes(SOCKET_PROTOCOL) && !names.includes(undefined) && new Set(names).size === names.length
  );
}

/** Pages of the server's own origin, as for any request, and of origins that the operator has named. */
function isAllowed(origin: string | undefined, host: string | undefined, origins: string | null): boolean {
  if (origin === undefined || origins === '*') return true;
  if (origins?.split(',').includes(origin) === true) return true;
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}
