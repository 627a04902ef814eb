import { ERRORS } from '@rollcall/protocol';
import type { Logger } from 'pino';
import { tokenFailure } from '../core/clients/token-failure.ts';
import { PartlyAppliedError } from '../core/presence/presence-service.ts';
import { retryLater, ServiceError } from '../core/service-error.ts';
import { ProjectGoneError, StoreUnavailableError } from '../values/engine-errors.ts';

/**
 * Makes the answer to a failure; no other code does. For an error that is not in the vocabulary the caller gets a fixed
 * message, and the log gets the cause and the request, which `context` describes.
 */
export function errorAnswer(error: unknown, context: object, log: Logger): ServiceError {
  const answer = knownError(error);
  if (answer === null || error instanceof StoreUnavailableError)
    log.error({ err: error, ...context }, 'a request failed');
  return answer ?? new ServiceError('error', ERRORS.error.example);
}

function knownError(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  if (error instanceof PartlyAppliedError)
    return unavailable('the store', 'some of the updates may have been applied');
  if (error instanceof StoreUnavailableError) return unavailable();
  // The token was valid, but its project has been deleted since.
  if (error instanceof ProjectGoneError) return tokenFailure('project_not_found', error.message);
  return null;
}

export const unavailable = (what = 'the store', changed = 'nothing is half done') =>
  retryLater(`${what} cannot be reached right now; ${changed}, try again`);
