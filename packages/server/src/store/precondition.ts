import type { AlreadyExists, Stale } from './outcomes.ts';

/**
 * Names one state of a resource. The caller of a write chooses it, a new one for every write; it changes when what a read
 * returns changes.
 */
export type Revision = string;

/** The state that the caller requires; checked inside the write. A list has revisions; `*` is any. */
export interface Precondition {
  /** Go on only if the resource exists with one of these revisions. */
  readonly ifMatch?: '*' | readonly Revision[];
  /** Go on only if the resource does not exist, or (a list) has none of these revisions. */
  readonly ifNoneMatch?: '*' | readonly Revision[];
}

/** Whether the current state (null: there is no such resource) meets what the caller requires. That it exists goes first. */
export function preconditionFailure(
  { ifMatch, ifNoneMatch }: Precondition,
  current: Revision | null,
): AlreadyExists | Stale | null {
  if (ifNoneMatch === '*' && current !== null) return { kind: 'exists' };
  if (ifMatch !== undefined && (current === null || (ifMatch !== '*' && !ifMatch.includes(current)))) {
    return { kind: 'stale' };
  }
  return current !== null && ifNoneMatch?.includes(current) ? { kind: 'stale' } : null;
}
