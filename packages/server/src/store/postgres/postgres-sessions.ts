import { randomBytes } from 'node:crypto';
import { UNCHANGED } from '../outcomes.ts';
import type { SessionStore } from '../ports/sessions.ts';
import type { Attempt, PostgresDatabase } from './connections/postgres-database.ts';
import { originOf, recorded, textOfChanges } from './postgres-changes.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { PROJECT } from './postgres-projects.ts';
import { ALIVE } from './postgres-row-writes.ts';
import { textArray } from './postgres-text.ts';

const SERVICE_KEY_BYTES = 64;

const FIND = `
  SELECT s.expires_at, s.revoked, ${PROJECT.sql} FROM sessions s JOIN projects p ON p.project_id = s.project_id
  WHERE s.id = $1`;
const FIND_SERVICE_KEY = `SELECT value FROM store_secrets WHERE name = 'service_key'`;
const INSERT_SERVICE_KEY = `
  INSERT INTO store_secrets (name, value) VALUES ('service_key', $1) ON CONFLICT (name) DO NOTHING`;
const INSERT = `
  WITH made AS (
    INSERT INTO sessions (id, project_id, expires_at) SELECT $2, $1, $3 WHERE ${ALIVE} RETURNING 1),
  ${recorded('SELECT $7::text FROM made', 4)}
  SELECT 1 FROM made`;
const REVOKE = `
  WITH changed AS (
    UPDATE sessions SET revoked = TRUE WHERE id = $2 AND project_id = $1 AND NOT revoked AND ${ALIVE} RETURNING 1),
  ${recorded('SELECT $6::text FROM changed', 3)}
  SELECT 1 FROM changed`;

/** Sessions that one statement reads, and one removes: the same work each time, however many have ended. */
const SESSIONS_AT_ONCE = 1_000;
// No upper bound, though only those that ended are wanted: a planner without fresh statistics takes a range with two for a
// few rows, and sorts all that have ended for each slice.
const NEXT_TO_END = `
  SELECT id, expires_at FROM sessions WHERE expires_at >= $1 ORDER BY expires_at LIMIT ${SESSIONS_AT_ONCE}`;
/** Those that another process is removing are left to it, so that no process waits. */
const REMOVE = `
  DELETE FROM sessions WHERE id = ANY(ARRAY(
    SELECT id FROM sessions WHERE id = ANY($1::text[]) FOR UPDATE SKIP LOCKED)) RETURNING 1`;

/** Access tokens (see the port). Ended sessions are removed slice by slice. */
export function sessionStore({ database }: PostgresEngine): SessionStore {
  return {
    serviceKey: () => database.operation({}, serviceKey),
    async create(project, { id, expiresAt }, context) {
      const changes = [{ type: 'access_token.issued' }] as const;
      const parameters = [expiresAt, ...originOf(context), textOfChanges(changes)];
      const isCreated = await database.changesRows(INSERT, project, id, ...parameters);
      return isCreated ? { kind: 'created', changes } : { kind: 'absent' };
    },
    find: (id) =>
      database.readOne(
        ([expiresAt, revoked, ...project]) => ({
          id,
          project: PROJECT.toRecord(project),
          expiresAt: expiresAt as number,
          revoked: revoked as boolean,
        }),
        FIND,
        id,
      ),
    async revoke(project, id, context) {
      const changes = [{ type: 'access_token.revoked' }] as const;
      const parameters = [...originOf(context), textOfChanges(changes)];
      const isRevoked = await database.changesRows(REVOKE, project, id, ...parameters);
      return isRevoked ? { kind: 'updated', changes } : UNCHANGED;
    },
    removeExpired: (now) => removeExpired(database, now),
  };
}

/** Slice by slice, in the order of their ends: what lies before a slice is gone, and is not stepped over again. */
async function removeExpired(database: PostgresDatabase, now: number): Promise<boolean> {
  for (let from = 0; ; ) {
    const next = (await database.read(NEXT_TO_END, from)) as [id: string, expiresAt: number][];
    const ended = next.filter(([, expiresAt]) => expiresAt < now);
    const last = ended.at(-1);
    if (last === undefined) return false;
    const ids = ended.map(([id]) => id);
    const hasRemoved = await database.changesRows(REMOVE, textArray(ids));
    // Where none is removed, another process is at it, and goes on.
    if (ended.length < SESSIONS_AT_ONCE || !hasRemoved) return false;
    [, from] = last;
  }
}

async function serviceKey(attempt: Attempt): Promise<Uint8Array> {
  const [found] = await attempt.run(FIND_SERVICE_KEY);
  if (found !== undefined) return new Uint8Array(found[0] as Buffer);
  await attempt.run(INSERT_SERVICE_KEY, randomBytes(SERVICE_KEY_BYTES));
  return serviceKey(attempt);
}
