import type { CarriedRecord } from '../../store.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { LongReads } from '../connections/postgres-snapshots.ts';

/** Most records of a piece. */
const PIECE_RECORDS = 1_000;
/** How long one may take to read all, in milliseconds: hours, for a large store and a slow taker. */
const TOTAL_LIMIT_MS = 24 * 3_600_000;

/** Records of one kind: the rows that hold them, and what each of them is. */
interface CarriedKind {
  readonly sql: string;
  toRecord(row: Row): unknown;
}

/** In the order in which another store can take them. Rows of deleted projects are not among them. */
const CARRIED_KINDS: readonly CarriedKind[] = [
  {
    sql: `SELECT value FROM store_secrets WHERE name = 'service_key'`,
    toRecord: ([key]) => ({ type: 'serviceKey', key: (key as Buffer).toString('base64') }),
  },
  {
    sql: 'SELECT id, secret, name, created_at FROM customers',
    toRecord: ([id, secret, name, createdAt]) => ({ type: 'customer', id, secret, name, createdAt }),
  },
  {
    sql: 'SELECT id, customer_id, name, secret, previous_secret, previous_valid_until, created_at FROM projects',
    toRecord([id, customerId, name, secret, previousSecret, previousValidUntil, createdAt]) {
      const secrets = { secret, previousSecret, previousValidUntil };
      return { type: 'project', id, customerId, name, ...secrets, createdAt };
    },
  },
  {
    sql: 'SELECT s.id, p.id, s.expires_at, s.revoked FROM sessions s JOIN projects p ON p.project_id = s.project_id',
    toRecord: ([id, projectId, expiresAt, revoked]) => ({
      type: 'session',
      id,
      projectId,
      expiresAt,
      revoked,
    }),
  },
  {
    sql: `SELECT p.id, u.id, u.send_via_messenger, u.send_via_email
      FROM users u JOIN projects p ON p.project_id = u.project_id
      WHERE NOT (u.send_via_messenger AND u.send_via_email)`,
    toRecord: ([projectId, userId, sendViaMessenger, sendViaEmail]) => ({
      type: 'preferences',
      projectId,
      userId,
      sendViaMessenger,
      sendViaEmail,
    }),
  },
  {
    sql: `SELECT p.id, g.id, g.workspace FROM groups g JOIN projects p ON p.project_id = g.project_id
      WHERE g.workspace IS NOT NULL`,
    toRecord: ([projectId, groupId, workspace]) => ({ type: 'workspace', projectId, groupId, workspace }),
  },
  {
    sql: `SELECT p.id, d.group_id, d.user_id, d.region, d.location, d.updated_at
      FROM durable_presence d JOIN projects p ON p.project_id = d.project_id`,
    toRecord([projectId, groupId, userId, region, location, at]) {
      return { type: 'durablePresence', projectId, groupId, userId, region, location, at };
    },
  },
];

/** All that an export does not carry, from one snapshot (see the port). */
export async function* carriedRecords(longReads: LongReads): AsyncGenerator<readonly CarriedRecord[]> {
  const snapshot = await longReads.snapshot(null, TOTAL_LIMIT_MS);
  try {
    for (const [index, { sql, toRecord }] of CARRIED_KINDS.entries()) {
      await snapshot.read(`DECLARE carried_${index} NO SCROLL CURSOR FOR ${sql}`);
      for (;;) {
        const rows = await snapshot.read(`FETCH ${PIECE_RECORDS} FROM carried_${index}`);
        if (rows.length > 0) yield rows.map(toRecord) as CarriedRecord[];
        if (rows.length < PIECE_RECORDS) break;
      }
    }
  } finally {
    snapshot.release();
  }
}
