/** Small values that several write operations of this engine share. */
import { limits } from '@rollcall/protocol';
import type { Effects, IdSample, Precondition, Revision } from '../store.ts';

export const NO_EFFECTS: Effects = {
  departures: [],
  deactivated: [],
  reactivated: [],
  deactivatedGroups: [],
  reactivatedGroups: [],
};

/** Whether the current state (null: nothing is there) meets what the caller requires. */
export function preconditionFailure(
  precondition: Precondition,
  current: Revision | null,
): { kind: 'exists' } | { kind: 'stale' } | null {
  const { ifMatch, ifNoneMatch } = precondition;
  if (ifMatch !== undefined && (current === null || (ifMatch !== '*' && !ifMatch.includes(current)))) {
    return { kind: 'stale' };
  }
  if (ifNoneMatch !== undefined && current !== null) {
    if (ifNoneMatch === '*') return { kind: 'exists' };
    if (ifNoneMatch.includes(current)) return { kind: 'stale' };
  }
  return null;
}

/** Counts IDs and keeps the first of them. */
export class IdCollector {
  count = 0;
  readonly ids: string[] = [];

  add(id: string): void {
    this.count += 1;
    if (this.ids.length < limits.PROBLEMS_NAMED) this.ids.push(id);
  }

  sample(): IdSample {
    return { count: this.count, ids: this.ids };
  }
}
