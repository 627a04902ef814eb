import { STATUS_CODES } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { PartlyAppliedError } from '../../core/presence-updates.ts';
import { ServiceError } from '../../core/service-error.ts';
import { tokenFailure } from '../../core/token-failure.ts';
import { ProjectGoneError, StoreUnavailableError } from '../../store/store.ts';
import { sendError } from '../answer.ts';

/** How long a caller should wait for an engine that is away, in seconds. */
const RETRY_AFTER_SECONDS = 1;

/**
 * The one place where a failure becomes an answer. For an error that is not in the vocabulary, the caller gets a fixed
 * message, and the log gets the cause.
 */
export function addErrors(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error, request, reply) => answerFailure(error, request, reply, log));
}

export function answerFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): void {
  const { method, routeOptions, id } = request;
  sendError(reply, refusalFor(error, { method, route: routeOptions.url, reqId: id }, log));
}

/** What to answer for a failure. Logs what is ours to mend, and which request it was. */
export function refusalFor(
  error: unknown,
  about: { readonly method: string; readonly route: string | undefined; readonly reqId: string },
  log: Logger,
): ServiceError {
  const refusal = refusalOf(error ?? {});
  if (refusal === null || error instanceof StoreUnavailableError)
    log.error({ err: error, ...about }, 'a request failed');
  return refusal ?? new ServiceError('error', UNEXPECTED);
}

/** Says nothing of the failure itself: that is for the log. */
const UNEXPECTED =
  'something failed on our side; the log has the cause, under the x-request-id of this answer or of one shortly before';

export const unavailable = (what = 'the store', changed = 'nothing is half done') =>
  retryLater(`${what} cannot be reached right now; ${changed}, try again`);

export const stopping = () => retryLater('the server is stopping; send requests to another one');

const retryLater = (message: string) =>
  new ServiceError('error', message, {
    status: 503,
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });

function refusalOf(error: unknown): ServiceError | null {
  if (error instanceof ServiceError) return error;
  if (error instanceof PartlyAppliedError)
    return unavailable('the store', 'some of the updates may have been applied');
  if (error instanceof StoreUnavailableError) return unavailable();
  // The token was good a moment ago, and names a project that is no more.
  if (error instanceof ProjectGoneError) return tokenFailure('project_not_found', error.message);
  return frameworkRefusal(error as Partial<FastifyError>);
}

/** What Fastify and Node refuse before a route is reached. */
function frameworkRefusal({ code, statusCode }: Partial<FastifyError>): ServiceError | null {
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || code === 'FST_ERR_CTP_EMPTY_TYPE') {
    return new ServiceError(
      'invalid_request',
      'the request body must be JSON: send Content-Type: application/json',
    );
  }
  if (statusCode === undefined || statusCode < 400 || statusCode > 499) return null;
  const reason = STATUS_CODES[statusCode] ?? 'refused';
  return new ServiceError('invalid_request', `the request cannot be read: ${reason}`, { status: statusCode });
}
