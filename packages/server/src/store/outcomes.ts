/** What of an outcome is the same in every engine. */
import type { Effects, Precondition, Revision } from './store.ts';

export const NO_EFFECTS: Effects = {
  departures: [],
  deactivated: [],
  reactivated: [],
  deactivatedGroups: [],
  reactivatedGroups: [],
};

/** The effects of members leaving a group. */
export function departed(groupId: string, userIds: readonly string[]): Effects {
  return userIds.length === 0 ? NO_EFFECTS : { ...NO_EFFECTS, departures: [{ groupId, userIds }] };
}

/** Whether the current state (null: nothing is there) meets what the caller requires. */
export function preconditionFailure(
  { ifMatch, ifNoneMatch }: Precondition,
  current: Revision | null,
): { kind: 'exists' } | { kind: 'stale' } | null {
  if (ifMatch !== undefined && (current === null || (ifMatch !== '*' && !ifMatch.includes(current)))) {
    return { kind: 'stale' };
  }
  if (ifNoneMatch !== undefined && current !== null) {
    if (ifNoneMatch === '*') return { kind: 'exists' };
    if (ifNoneMatch.includes(current)) return { kind: 'stale' };
  }
  return null;
}
