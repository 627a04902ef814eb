import type { ErrorCode } from '@rollcall/protocol';
import { ServiceError } from '../service-error.ts';

/**
 * An error of the token that was presented. The header distinguishes it from other 401s, so that a client which
 * fetches a new token on 401 does so for these only.
 */
export function tokenFailure(code: ErrorCode, message: string): ServiceError {
  return new ServiceError(code, message, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
