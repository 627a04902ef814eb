/** Times of threads and messages in bodies, which are checked with the schema, so that all invalid fields are named at once. */
import { PastTimestamp, type ValidationErrors, valueCheck } from '@rollcall/protocol';

/** A JSON object whose fields may have any type. */
type Body = Readonly<Record<string, unknown>>;

const isTime = valueCheck(PastTimestamp);

/** Rejects times in the future, and a time of resolution of a thread that is not resolved. */
export function checkThreadTimes(body: object, now: number, errors: ValidationErrors, path = ''): void {
  const { createdTimestamp, resolvedTimestamp, resolved } = body as Body;
  checkTimes({ createdTimestamp, resolvedTimestamp }, now, errors, path);
  if (isTime(resolvedTimestamp) && resolved === false)
    errors.invalid.add(`${path}resolvedTimestamp`, 'no time of resolution where resolved is false');
}

/** The same of a message, its deletion, and the thread to make. */
export function checkMessageTimes(body: object, now: number, errors: ValidationErrors): void {
  const { createdTimestamp, updatedTimestamp, deletedTimestamp, deleted, createThread } = body as Body;
  checkTimes({ createdTimestamp, updatedTimestamp, deletedTimestamp }, now, errors);
  if (isTime(deletedTimestamp) && deleted === false)
    errors.invalid.add('deletedTimestamp', 'no time of deletion where deleted is false');
  if (typeof createThread === 'object' && createThread !== null)
    checkThreadTimes(createThread, now, errors, 'createThread.');
}

function checkTimes(times: Body, now: number, errors: ValidationErrors, path = ''): void {
  for (const [field, time] of Object.entries(times)) {
    if (isTime(time) && Date.parse(time as string) > now)
      errors.invalid.add(path + field, 'a time that is not in the future');
  }
}
