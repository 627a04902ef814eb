import { randomBytes } from 'node:crypto';
import { UNCHANGED } from '../outcomes.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Reads, Writes } from './sqlite-methods.ts';
import { PROJECT } from './sqlite-projects.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const SERVICE_KEY_BYTES = 64;
/** Sessions that one write removes: the writes after it wait for some milliseconds, however many have ended. */
const SESSIONS_AT_ONCE = 1_000;

export function sessionReads({ prepare }: SqliteReader): Reads<'sessions'> {
  const find = prepare(`
    SELECT ${PROJECT.sql}, s.expires_at, s.revoked FROM sessions s CROSS JOIN projects p ON p.project_no = s.project_no
    WHERE s.id = ?`);
  return {
    async find(id) {
      const row = find.get(id);
      if (row === undefined) return null;
      const [expiresAt, isRevoked] = row.slice(-2) as [number, number];
      return { id, project: PROJECT.toRecord(row), expiresAt, revoked: isRevoked === 1 };
    },
  };
}

export function sessionWrites({ prepare }: SqliteConnection): Writes<'sessions'> {
  const findKey = prepare<[key: Uint8Array]>(`SELECT value FROM store_secrets WHERE name = 'service_key'`);
  const insertKey = prepare(`INSERT INTO store_secrets (name, value) VALUES ('service_key', ?)`);
  const insert = prepare(`
    INSERT INTO sessions (id, project_no, expires_at) SELECT ?, project_no, ? FROM projects WHERE project_no = ?`);
  const revoke = prepare(`
    UPDATE sessions SET revoked = 1 WHERE id = ?1 AND project_no = ?2 AND revoked = 0
      AND EXISTS (SELECT 1 FROM projects WHERE project_no = ?2)`);
  const removeExpired = prepare(`
    DELETE FROM sessions WHERE id IN (
      SELECT id FROM sessions WHERE expires_at < ? ORDER BY expires_at LIMIT ${SESSIONS_AT_ONCE})`);
  return {
    serviceKey() {
      const found = findKey.get();
      if (found !== undefined) return found[0];
      const key = new Uint8Array(randomBytes(SERVICE_KEY_BYTES));
      insertKey.run(key);
      return key;
    },
    create(project, { id, expiresAt }) {
      if (insert.run(id, expiresAt, project) === 0) return { kind: 'absent' };
      return { kind: 'created', changes: [{ type: 'access_token.issued' }] };
    },
    revoke(project, id) {
      if (revoke.run(id, project) === 0) return UNCHANGED;
      return { kind: 'updated', changes: [{ type: 'access_token.revoked' }] };
    },
    removeExpired: (now) => removeExpired.run(now) === SESSIONS_AT_ONCE,
  };
}
