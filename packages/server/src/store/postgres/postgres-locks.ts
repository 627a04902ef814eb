/** How writes hold one group or one user until they commit. $1 is the project, $2 the ID. */
import type { Row } from './connections/postgres-connection.ts';
import { ALIVE, assertAlive } from './postgres-outcomes.ts';

/** Holds the group: (whether the project is there, revision, status, name, metadata). */
export const LOCK_GROUP = `
  WITH found AS (
    SELECT revision, status, name, metadata FROM groups WHERE project_id = $1 AND id = $2 AND ${ALIVE} FOR UPDATE)
  SELECT ${ALIVE}, found.revision, found.status, found.name, found.metadata
  FROM (SELECT 1) one LEFT JOIN found ON TRUE`;

/** Holds the user: (whether the project is there, revision). */
export const LOCK_USER = `
  WITH found AS (SELECT revision FROM users WHERE project_id = $1 AND id = $2 AND ${ALIVE} FOR UPDATE)
  SELECT ${ALIVE}, found.revision FROM (SELECT 1) one LEFT JOIN found ON TRUE`;

/** The revision of what was held, null when it is not there. @throws ProjectGoneError */
export function lockedRevision([alive, revision]: Row): string | null {
  assertAlive(alive);
  return revision as string | null;
}
