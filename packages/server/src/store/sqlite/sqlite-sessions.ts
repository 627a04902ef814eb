import { randomBytes } from 'node:crypto';
import { UNCHANGED } from '../outcomes.ts';
import type { SessionStore } from '../ports/sessions.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Reads, Write } from './sqlite-methods.ts';
import { PROJECT } from './sqlite-projects.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const SERVICE_KEY_BYTES = 64;

/** Reads of sessions, on the main thread. */
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

/** Writes of sessions, on the writer's thread. */
export class SessionWrites {
  readonly #statements;

  constructor({ prepare }: SqliteConnection) {
    this.#statements = {
      findKey: prepare<[key: Uint8Array]>(`SELECT value FROM store_secrets WHERE name = 'service_key'`),
      insertKey: prepare(`INSERT INTO store_secrets (name, value) VALUES ('service_key', ?)`),
      insert: prepare(`
        INSERT INTO sessions (id, project_no, expires_at) SELECT ?, project_no, ? FROM projects WHERE project_no = ?`),
      revoke: prepare('UPDATE sessions SET revoked = 1 WHERE id = ? AND project_no = ? AND revoked = 0'),
      removeExpired: prepare('DELETE FROM sessions WHERE expires_at < ?'),
    };
  }

  serviceKey(): Uint8Array {
    const found = this.#statements.findKey.get();
    if (found !== undefined) return found[0];
    const key = new Uint8Array(randomBytes(SERVICE_KEY_BYTES));
    this.#statements.insertKey.run(key);
    return key;
  }

  readonly create: Write<SessionStore['create']> = (project, { id, expiresAt }) => {
    if (this.#statements.insert.run(id, expiresAt, project) === 0) return { kind: 'absent' };
    return { kind: 'created', changes: [{ type: 'access_token.issued' }] };
  };

  readonly revoke: Write<SessionStore['revoke']> = (project, id) => {
    if (this.#statements.revoke.run(id, project) === 0) return UNCHANGED;
    return { kind: 'updated', changes: [{ type: 'access_token.revoked' }] };
  };

  removeExpired(now: number): void {
    this.#statements.removeExpired.run(now);
  }
}
