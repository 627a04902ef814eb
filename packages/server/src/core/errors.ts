/** The errors that more than one service throws, so that the same situation has the same text everywhere. */
import type { Status } from '@rollcall/protocol';
import type { IdSample } from '../store/outcomes.ts';
import type { UnknownReference } from '../store/ports/batches.ts';
import { GroupError, ServiceError } from './service-error.ts';
import { andMore } from './validation-error.ts';

/** What a reading has found. @throws ServiceError where that is nothing */
export function requireFound<Found>(record: Found | null, absent: () => ServiceError): Found {
  if (record === null) throw absent();
  return record;
}

export const groupNotFound = (id: string, why = 'does not exist') =>
  new GroupError('group_not_found', '', ` ${id} ${why}`);

export const groupExists = (id: string) =>
  new GroupError('group_already_exists', '', ` ${id} already exists`);

export const notMember = (userId: string, groupId: string) =>
  new GroupError('user_not_found', `user ${userId} is not a member of `, ` ${groupId}`);

export const userNotFound = (id: string, why = 'does not exist') =>
  new ServiceError('user_not_found', `user ${id} ${why}`);

/** Why a user of this status (null: there is no such user) may not act; null where the user may. */
export function userError(id: string, status: Status | null): ServiceError | null {
  if (status === null) return userNotFound(id);
  return status === 'deleted' ? userNotFound(id, 'is deleted') : null;
}

export const userExists = (id: string) =>
  new ServiceError('user_already_exists', `user ${id} already exists`);

export const unknownUsers = (users: IdSample) =>
  new ServiceError('user_not_found', `${nameUsers(users)} ${users.count === 1 ? 'does' : 'do'} not exist`);

/** The error of a batch whose items name users who do not exist. */
export function unknownReferences(references: readonly UnknownReference[], count: number): ServiceError {
  const named = references.map(({ path, users }) => `${path} (${nameUsers(users)})`).join('; ');
  return new ServiceError(
    'user_not_found',
    `users that do not exist in ${named}${andMore(count - references.length)}`,
  );
}

export const webhookNotFound = (id: string) =>
  new ServiceError('webhook_not_found', `webhook ${id} does not exist`);

const CONDITION_FAILED = 'If-Match or If-None-Match does not hold for ';
const READ_AGAIN = ': read it again';

/** The precondition of a write failed. `what` names the resource; a group has {@link groupConditionFailed}. */
export const conditionFailed = (what: string) =>
  new ServiceError('invalid_request', `${CONDITION_FAILED}${what}${READ_AGAIN}`, { status: 412 });

export const userConditionFailed = (id: string) => conditionFailed(`user ${id}`);

export const groupConditionFailed = (id: string) =>
  new GroupError('invalid_request', CONDITION_FAILED, ` ${id}${READ_AGAIN}`, { status: 412 });

const nameUsers = ({ count, ids }: IdSample) =>
  `${count === 1 ? 'user' : 'users'} ${ids.join(', ')}${andMore(count - ids.length)}`;
