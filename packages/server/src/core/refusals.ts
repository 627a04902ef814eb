/** The refusals that more than one service gives, so that the same situation reads the same everywhere. */
import type { ErrorCode } from '@rollcall/protocol';
import type { IdSample, UnknownReference } from '../store/store.ts';
import { andMore } from './findings-error.ts';
import { ServiceError } from './service-error.ts';

/** What the caller calls a group: `organization` is the older word of some hosts, with a not-found code of its own. */
export type GroupNoun = 'group' | 'organization';

const NOT_FOUND = {
  group: 'group_not_found',
  organization: 'organization_not_found',
} as const satisfies Record<GroupNoun, ErrorCode>;

export const groupNotFound = (noun: GroupNoun, id: string, why = 'does not exist') =>
  new ServiceError(NOT_FOUND[noun], `${noun} ${id} ${why}`);

export const groupExists = (noun: GroupNoun, id: string) =>
  new ServiceError('group_already_exists', `${noun} ${id} already exists`);

export const userNotFound = (id: string, why = 'does not exist') =>
  new ServiceError('user_not_found', `user ${id} ${why}`);

export const userExists = (id: string) =>
  new ServiceError('user_already_exists', `user ${id} already exists`);

export const unknownUsers = (users: IdSample) =>
  new ServiceError('user_not_found', `${nameUsers(users)} ${users.count === 1 ? 'does' : 'do'} not exist`);

/** The refusal of a batch whose items name users who do not exist. */
export function unknownReferences(references: readonly UnknownReference[], count: number): ServiceError {
  const named = references.map(({ place, users }) => `${place} (${nameUsers(users)})`).join('; ');
  return new ServiceError(
    'user_not_found',
    `users that do not exist in ${named}${andMore(count - references.length)}`,
  );
}

export const preconditionFailed = (what: string) =>
  new ServiceError('invalid_request', `If-Match or If-None-Match does not hold for ${what}: read it again`, {
    status: 412,
  });

const nameUsers = ({ count, ids }: IdSample) =>
  `${count === 1 ? 'user' : 'users'} ${ids.join(', ')}${andMore(count - ids.length)}`;
