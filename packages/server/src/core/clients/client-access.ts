import type { Eligibility } from '../../store/ports/eligibility.ts';
import { groupNotFound, userError } from '../errors.ts';
import type { ServiceError } from '../service-error.ts';

/**
 * Why a client token's user may not act in a group, or null. Browsers cannot find out which other groups exist: a missing
 * group and a group without this member read the same.
 */
export function clientAccessError(
  { user, group, incarnation }: Eligibility,
  groupId: string,
  userId: string,
): ServiceError | null {
  const error = userError(userId, user);
  if (error !== null) return error;
  if (incarnation === null) return groupNotFound(groupId, `has no member ${userId}`);
  return group === 'active' ? null : groupNotFound(groupId, 'is deleted');
}
