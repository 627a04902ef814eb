/** The errors of threads and messages, so that the same situation reads the same everywhere. */

import type { AuthorUnavailable } from '../../store/ports/messages.ts';
import type {
  FieldsRequired,
  FixedFields,
  FutureTimes,
  GroupUnavailable,
} from '../../store/ports/threads.ts';
import { groupNotFound, notMember, userNotFound } from '../errors.ts';
import { ServiceError } from '../service-error.ts';
import { invalidFields, requiredToCreate } from '../validation-error.ts';
import { NOT_IN_THE_FUTURE } from './conversation-times.ts';

export const threadNotFound = (id: string) =>
  new ServiceError('thread_not_found', `thread ${id} does not exist`);

export const messageNotFound = (id: string, threadId: string) =>
  new ServiceError('message_not_found', `message ${id} does not exist in thread ${threadId}`);

export const threadExists = (id: string) =>
  new ServiceError('thread_already_exists', `thread ${id} already exists`);

export const messageExists = (id: string, threadId: string) =>
  new ServiceError('message_already_exists', `message ${id} already exists in thread ${threadId}`);

export type RejectedWrite = FieldsRequired | FutureTimes | FixedFields | GroupUnavailable | AuthorUnavailable;

/** The error of a write that the store rejected for a reason that threads and messages share. */
export function rejectedWrite(outcome: RejectedWrite, authorId = ''): ServiceError {
  switch (outcome.kind) {
    case 'fieldsRequired':
      return requiredToCreate(Object.fromEntries(outcome.fields.map((field) => [field, 'a value'])));
    case 'futureTimes':
      return invalidFields(outcome.fields, NOT_IN_THE_FUTURE);
    case 'fixedFields':
      return invalidFields(outcome.fields, 'the stored value: it never changes');
    case 'groupUnavailable':
      return groupNotFound(outcome.groupId, outcome.isDeleted ? 'is deleted' : 'does not exist');
    case 'authorUnavailable':
      if (outcome.reason === 'notMember') return notMember(authorId, outcome.groupId);
      return userNotFound(authorId, outcome.reason === 'deleted' ? 'is deleted' : 'does not exist');
  }
}

/** A time of a body in milliseconds since the epoch, where it is given. */
export const timeOf = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
