/** Times of threads and messages in bodies, which are checked with the schema, so that all invalid fields are named at once. */
import { PastTimestamp, type ValidationErrors, valueCheck } from '@rollcall/protocol';

/** A JSON object whose fields may have any type. */
type Body = Readonly<Record<string, unknown>>;

const isTime = valueCheck(PastTimestamp);

export const NOT_IN_THE_FUTURE = 'a time that is not in the future';

/**
 * Rejects a time of resolution of a thread that is not resolved, and times after `now`. Without it the store rejects those, unless
 * they repeat what is stored.
 */
export function checkThreadTimes(body: object, errors: ValidationErrors, now?: number, path = ''): void {
  const { createdTimestamp, resolvedTimestamp, resolved } = body as Body;
  checkTimes({ createdTimestamp, resolvedTimestamp }, errors, now, path);
  if (isTime(resolvedTimestamp) && resolved === false)
    errors.invalid.add(`${path}resolvedTimestamp`, 'no time of resolution where resolved is false');
}

/** The same of a message, its deletion, and the thread to make. */
export function checkMessageTimes(body: object, errors: ValidationErrors, now?: number): void {
  const { createdTimestamp, updatedTimestamp, deletedTimestamp, deleted, createThread } = body as Body;
  checkTimes({ createdTimestamp, updatedTimestamp, deletedTimestamp }, errors, now);
  if (isTime(deletedTimestamp) && deleted === false)
    errors.invalid.add('deletedTimestamp', 'no time of deletion where deleted is false');
  if (typeof createThread === 'object' && createThread !== null)
    checkThreadTimes(createThread, errors, now, 'createThread.');
}

function checkTimes(times: Body, errors: ValidationErrors, now = Number.POSITIVE_INFINITY, path = ''): void {
  for (const [field, time] of Object.entries(times)) {
    if (isTime(time) && Date.parse(time as string) > now) errors.invalid.add(path + field, NOT_IN_THE_FUTURE);
  }
}
