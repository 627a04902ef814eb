/** Small values that several operations of this engine share. */
import type { GroupWrite, Status, UserWrite } from '@rollcall/protocol';
import {
  type Effects,
  type IdSample,
  type Json,
  type Precondition,
  ProjectGoneError,
  type Revision,
} from '../store.ts';
import { textArray } from './postgres-text.ts';

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

/** The effects of a group's status being written. */
export function turnedGroup(id: string, before: unknown, status: Status | undefined): Effects {
  if (status === undefined || status === before) return NO_EFFECTS;
  return status === 'deleted'
    ? { ...NO_EFFECTS, deactivatedGroups: [id] }
    : { ...NO_EFFECTS, reactivatedGroups: [id] };
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

/** The part of {@link preconditionFailure} that an update in one statement checks itself, of a resource that is there. */
export const meetsPrecondition = (revision: string, ifMatch: string, ifNoneMatch: string, mayExist: string) =>
  `(${ifMatch}::text[] IS NULL OR ${revision} = ANY(${ifMatch}::text[]))
   AND (${ifNoneMatch}::text[] IS NULL OR ${revision} <> ALL(${ifNoneMatch}::text[])) AND ${mayExist}::boolean`;

/** The parameters of {@link meetsPrecondition}. */
export function preconditionParameters({
  ifMatch,
  ifNoneMatch,
}: Precondition): [string | null, string | null, boolean] {
  const list = (revisions: '*' | readonly Revision[] | undefined) =>
    revisions === undefined || revisions === '*' ? null : textArray(revisions);
  return [list(ifMatch), list(ifNoneMatch), ifNoneMatch !== '*'];
}

/** An SQL condition: the project is still there. */
export const ALIVE = 'EXISTS (SELECT 1 FROM projects WHERE project_id = $1)';

/** @throws ProjectGoneError where a statement found no such project */
export function assertAlive(alive: unknown): void {
  if (alive !== true) throw new ProjectGoneError();
}

/** A sample of IDs that are known to be all. */
export const sampleOf = (count: number, ids: readonly string[]): IdSample => ({ count, ids });

/** A write with its metadata as the text that is stored. */
export type Stored<Write extends { metadata?: unknown }> = Omit<Write, 'metadata'> & {
  readonly metadata?: Json;
};
export type StoredUserWrite = Stored<UserWrite>;
export type StoredGroupWrite = Stored<GroupWrite>;

export function toStored<Write extends { metadata?: unknown }>(write: Write): Stored<Write> {
  if (write.metadata === undefined) return write as Stored<Write>;
  return { ...write, metadata: JSON.stringify(write.metadata) };
}
