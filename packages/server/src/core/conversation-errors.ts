/** The errors of threads and messages, so that the same situation reads the same everywhere. */

import { ValidationErrors } from '@rollcall/protocol';
import type { AuthorUnavailable } from '../store/ports/messages.ts';
import type { FieldsRequired, FixedField, GroupUnavailable } from '../store/ports/threads.ts';
import type { Precondition } from '../store/precondition.ts';
import { groupNotFound, notMember, userNotFound } from './errors.ts';
import { ServiceError } from './service-error.ts';
import { type ErrorsByStep, validationError } from './validation-error.ts';

export const threadNotFound = (id: string) =>
  new ServiceError('thread_not_found', `thread ${id} does not exist`);

export const messageNotFound = (id: string, threadId: string) =>
  new ServiceError('message_not_found', `message ${id} does not exist in thread ${threadId}`);

export const threadExists = (id: string) =>
  new ServiceError('thread_already_exists', `thread ${id} already exists`);

export const messageExists = (id: string, threadId: string) =>
  new ServiceError('message_already_exists', `message ${id} already exists in thread ${threadId}`);

export const conversationConditionFailed = (what: string) =>
  new ServiceError('invalid_request', `If-Match or If-None-Match does not hold for ${what}: read it again`, {
    status: 412,
  });

export type RejectedWrite = FieldsRequired | FixedField | GroupUnavailable | AuthorUnavailable;

/** The error of a write that the store rejected for a reason that threads and messages share. */
export function rejectedWrite(outcome: RejectedWrite, authorId = ''): ServiceError {
  const errors = new ValidationErrors();
  switch (outcome.kind) {
    case 'fieldsRequired':
      requireToCreate(outcome.fields, errors);
      return validationError(errors);
    case 'fixedField':
      errors.invalid.add(outcome.field, 'the stored value: it never changes');
      return validationError(errors);
    case 'groupUnavailable':
      return groupNotFound(outcome.groupId, outcome.isDeleted ? 'is deleted' : 'does not exist');
    case 'authorUnavailable':
      if (outcome.reason === 'notMember') return notMember(authorId, outcome.groupId);
      return userNotFound(authorId, outcome.reason === 'deleted' ? 'is deleted' : 'does not exist');
  }
}

/** Names the fields without which nothing is created. */
function requireToCreate(fields: readonly string[], { missing }: ErrorsByStep): void {
  for (const field of fields) missing.add(field, 'a value, to create it');
}

/**
 * Rejects a write that is invalid. Which fields are missing depends on the thread or message being there, and missing comes
 * before invalid, so the store is read when only values are wrong. A caller who requires it to be there (`ifMatch`) is not
 * creating it.
 */
export async function rejectInvalidWrite(
  write: object,
  required: readonly string[],
  { ifMatch }: Precondition,
  errors: ErrorsByStep,
  isThere: () => Promise<boolean>,
): Promise<never> {
  const missing = required.filter((field) => !Object.hasOwn(write, field));
  const mayCreate = missing.length > 0 && ifMatch === undefined && errors.unexpected.count === 0;
  if (mayCreate && !(await isThere())) requireToCreate(missing, errors);
  throw validationError(errors);
}

/** A time of a body in milliseconds since the epoch, where it is given. */
export const timeOf = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
