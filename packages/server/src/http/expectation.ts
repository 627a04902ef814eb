import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/service-error.ts';

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Whether the client waits for `100 Continue` before it sends the body. HTTP/1.0 has no expectations. */
export const expectsContinue = ({ headers, httpVersionMinor }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersionMinor > 0;

/** @throws ServiceError 417 for any other expectation */
export function requireKnownExpectation(request: IncomingMessage): void {
  if (!expectsContinue(request) || CONTINUE.test(request.headers.expect ?? '')) return;
  throw new ServiceError('invalid_request', 'Expect: only 100-continue is understood', { status: 417 });
}
