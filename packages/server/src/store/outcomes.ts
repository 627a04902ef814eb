/** The outcomes that writes of several ports share. */
import { limits } from '@rollcall/protocol';
import type { Change } from './changes/changes.ts';

/** Some IDs of a set that may be large. */
export interface IdSample {
  readonly count: number;
  /** The first of them, at most 20, in the order in which the request names them. */
  readonly ids: readonly string[];
}

export const idSample = (ids: readonly string[]): IdSample => ({
  count: ids.length,
  ids: ids.slice(0, limits.PROBLEMS_NAMED),
});

/** A write that was applied, with all that it changed: nothing where it is `unchanged`. */
export type Written = {
  readonly kind: 'created' | 'updated' | 'unchanged';
  readonly changes: readonly Change[];
};
/** A write of what must be there. */
export type Updated = { readonly kind: 'updated' | 'unchanged'; readonly changes: readonly Change[] };
/** `ifNoneMatch: '*'` and the resource is there. */
export type AlreadyExists = { readonly kind: 'exists' };
/** Another precondition failed, among them `ifMatch` where there is no such resource. */
export type Stale = { readonly kind: 'stale' };
/** The resource that the write is about is not there. */
export type Absent = { readonly kind: 'absent' };
export type UnknownUsers = { readonly kind: 'unknownUsers'; readonly users: IdSample };

export type DeleteOutcome =
  | { readonly kind: 'deleted'; readonly changes: readonly Change[] }
  | Stale
  | Absent;

export const UNCHANGED: Updated = { kind: 'unchanged', changes: [] };
