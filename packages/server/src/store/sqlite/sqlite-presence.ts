import type { Status } from '@rollcall/protocol';
import type {
  DurablePresence,
  DurablePresenceOutcome,
  DurablePresenceUpdate,
  LocationFilter,
  PageRequest,
  ProjectKey,
  Standing,
  WriteStamp,
} from '../store.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const STANDING = `
  SELECT (SELECT status FROM users WHERE project_no = ?1 AND id = ?3), g.status,
    (SELECT user_no FROM memberships m WHERE m.group_no = g.group_no AND m.user_id = ?3), g.group_no
  FROM (SELECT 1) LEFT JOIN groups g ON g.project_no = ?1 AND g.id = ?2`;

function toStanding(row: Row): Standing {
  return { user: row[0] as Status | null, group: row[1] as Status | null, member: row[2] !== null };
}

const mayBePresent = ({ user, group, member }: Standing): boolean =>
  user === 'active' && group === 'active' && member;

/** The same for members, who nearly all askers are about: without looking the user up by ID. */
const MEMBER_STANDING = `
  SELECT u.status, g.status FROM groups g
    CROSS JOIN memberships m ON m.group_no = g.group_no AND m.user_id = ?3
    CROSS JOIN users u ON u.user_no = m.user_no
  WHERE g.project_no = ?1 AND g.id = ?2`;

/** Reads of durable presence and of who may be present, on the main thread. */
export function presenceReads(reader: SqliteReader) {
  const memberStanding = reader.prepare(MEMBER_STANDING);
  const standing = reader.prepare(STANDING);
  const presentable = reader.prepare(`
    SELECT m.user_id FROM groups g CROSS JOIN json_each(?3) wanted
      CROSS JOIN memberships m ON m.group_no = g.group_no AND m.user_id = wanted.value
      CROSS JOIN users u ON u.user_no = m.user_no
    WHERE g.project_no = ?1 AND g.id = ?2 AND g.status = 'active' AND u.status = 'active'
    ORDER BY m.user_id`);
  const list = (filter: string, index = '') =>
    reader.prepare(`
      SELECT d.user_id, d.location, d.updated_at FROM groups g
        CROSS JOIN durable_presence d ${index} ON d.group_no = g.group_no
        CROSS JOIN users u ON u.user_no = d.user_no
      WHERE g.project_no = ?1 AND g.id = ?2 AND d.user_id > ?3 AND u.status = 'active' ${filter}
      ORDER BY d.user_id, d.updated_at DESC, d.region`);
  const listAll = list('');
  const listExact = list('AND d.location = ?4', 'INDEXED BY durable_presence_by_location');
  const listPartial = list(`AND NOT EXISTS (
    SELECT 1 FROM json_each(?4) wanted WHERE NOT EXISTS (
      SELECT 1 FROM json_each(d.location) pair WHERE pair.key = wanted.key AND pair.value = wanted.value))`);
  const latest = reader.prepare(`
    SELECT d.user_id, d.location, d.updated_at FROM groups g
      CROSS JOIN durable_presence d ON d.group_no = g.group_no AND d.user_id = ?3
    WHERE g.project_no = ?1 AND g.id = ?2 ORDER BY d.updated_at DESC, d.region LIMIT 1`);

  const rowsOf = (project: ProjectKey, groupId: string, filter: LocationFilter, after: string) => {
    if (filter === null) return listAll.iterate(project, groupId, after);
    return (filter.partial ? listPartial : listExact).iterate(project, groupId, after, filter.location);
  };
  return {
    standing(project: ProjectKey, groupId: string, userId: string): Standing {
      const row = memberStanding.get(project, groupId, userId);
      if (row === undefined) return toStanding(standing.get(project, groupId, userId) as Row);
      return { user: row[0] as Status, group: row[1] as Status, member: true };
    },
    presentable: (project: ProjectKey, groupId: string, userIds: readonly string[]): string[] =>
      presentable.all(project, groupId, JSON.stringify(userIds)).map(([id]) => id as string),
    listDurable(
      project: ProjectKey,
      groupId: string,
      filter: LocationFilter,
      page: PageRequest,
    ): DurablePresence[] {
      const found: DurablePresence[] = [];
      for (const row of rowsOf(project, groupId, filter, page.after ?? '')) {
        // The first row of a user is their latest.
        if (row[0] === found.at(-1)?.userId) continue;
        if (found.length === page.limit) break;
        found.push(toDurable(row));
      }
      return found;
    },
    findDurable(project: ProjectKey, groupId: string, userId: string): DurablePresence | null {
      const row = latest.get(project, groupId, userId);
      return row === undefined ? null : toDurable(row);
    },
  };
}

function toDurable(row: Row): DurablePresence {
  return { userId: row[0] as string, location: row[1] as string, at: row[2] as number };
}

/** Writes of durable presence, on the writer's thread. */
export class PresenceWrites {
  readonly #standing;
  readonly #find;
  readonly #put;

  constructor(connection: SqliteConnection) {
    this.#standing = connection.prepare(STANDING);
    this.#find = connection.prepare(
      'SELECT location FROM durable_presence WHERE group_no = ? AND user_id = ? AND region = ?',
    );
    this.#put = connection.prepare(`
      INSERT INTO durable_presence (group_no, user_id, region, user_no, location, updated_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (group_no, user_id, region) DO UPDATE SET location = excluded.location, updated_at = excluded.updated_at`);
  }

  put(project: ProjectKey, update: DurablePresenceUpdate, { now }: WriteStamp): DurablePresenceOutcome {
    const { userId, groupId, region, location } = update;
    const row = this.#standing.get(project, groupId, userId) as Row;
    const standing = toStanding(row);
    if (!mayBePresent(standing)) return { kind: 'refused', standing };
    const [, , userNo = 0, groupNo = 0] = row;
    const previous = this.#find.get(groupNo, userId, region)?.[0] as string | undefined;
    this.#put.run(groupNo, userId, region, userNo, location, now);
    return { kind: 'set', previous: previous ?? null };
  }
}
