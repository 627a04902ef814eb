import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { localUrl } from '../../config/local-url.ts';

/** A host name or an address, maybe with a port. */
const HOST = /^(?:[a-z\d._-]{1,253}|\[[a-f\d:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * The server's address as the request names it, by its `Host` header; without a usable one, by the connection. No other
 * header is trusted, so it is `http` before a proxy that ends TLS, too.
 */
export function addressOf({ headers: { host = '' }, socket }: IncomingMessage): string {
  if (HOST.test(host)) return `http://${host}`;
  // Both are absent when the connection has closed meanwhile: no client reads the answer then.
  const { address = 'localhost', port = 0 } = socket.address() as Partial<AddressInfo>;
  return localUrl(address, port);
}
