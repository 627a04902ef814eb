/** Small values that several operations of this engine share. */
import type { Status } from '@rollcall/protocol';
import { NO_EFFECTS } from '../outcomes.ts';
import { type Effects, type IdSample, type Precondition, ProjectGoneError, type Revision } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';
import { textArray } from './postgres-text.ts';

/** The effects of a group's status being written. */
export function turnedGroup(id: string, before: unknown, status: Status | undefined): Effects {
  if (status === undefined || status === before) return NO_EFFECTS;
  return status === 'deleted'
    ? { ...NO_EFFECTS, deactivatedGroups: [id] }
    : { ...NO_EFFECTS, reactivatedGroups: [id] };
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

export const idsOf = (rows: readonly Row[]): string[] => rows.map(([id]) => id as string);
