import type { DurablePresence, LocationFilter, PageRequest, ProjectKey } from '../store.ts';
import { FilteredPresence, type PlaceStatements } from './sqlite-filtered-presence.ts';
import { PATIENCE, toDurable } from './sqlite-presence-row.ts';
import type { ReadStatement, SqliteReader } from './sqlite-reader.ts';

/**
 * Reads of durable presence, on the main thread. A listing costs what it answers: it goes from user to user however many
 * places one of them has, and through a filter's rarest pair however many have the others. Somebody set deleted costs
 * some rows ({@link PATIENCE} at most), so a page costs more where many of them come before what it answers.
 */
export function presenceReads(reader: Pick<SqliteReader, 'prepare'>) {
  const group = reader.prepare('SELECT group_no FROM groups WHERE project_no = ? AND id = ?');
  const newestFirst = reader.prepare(`
    SELECT d.user_id, d.location, d.updated_at, u.status = 'active'
    FROM durable_presence d INDEXED BY durable_presence_by_time CROSS JOIN users u ON u.user_no = d.user_no
    WHERE d.group_no = ? AND d.user_id > ? ORDER BY d.user_id, d.updated_at DESC`);
  const statements = placeStatements(reader);
  const numberOf = (project: ProjectKey, id: string) => group.get(project, id)?.[0] as number | undefined;
  return {
    listDurable(
      project: ProjectKey,
      groupId: string,
      filter: LocationFilter,
      page: PageRequest,
    ): DurablePresence[] {
      const groupNo = numberOf(project, groupId);
      if (groupNo === undefined) return [];
      return filter === null
        ? latestOfEach(newestFirst, groupNo, page)
        : new FilteredPresence(statements, groupNo, filter, page).read();
    },
    findDurable(project: ProjectKey, groupId: string, userId: string): DurablePresence | null {
      const groupNo = numberOf(project, groupId);
      const row = groupNo === undefined ? undefined : statements.newestOfUser.get(groupNo, userId);
      return row === undefined ? null : toDurable(row);
    },
  };
}

function placeStatements(reader: Pick<SqliteReader, 'prepare'>): PlaceStatements {
  return {
    newestOfUser: reader.prepare(`
      SELECT d.user_id, d.location, d.updated_at FROM durable_presence d INDEXED BY durable_presence_by_time
      WHERE d.group_no = ? AND d.user_id = ? ORDER BY d.updated_at DESC`),
    withKey: reader.prepare(`
      SELECT d.user_id, d.location, d.updated_at, u.status = 'active', d.presence_no FROM durable_places p
        CROSS JOIN durable_presence d ON d.presence_no = p.presence_no CROSS JOIN users u ON u.user_no = d.user_no
      WHERE p.group_no = ? AND p.place_key = ? AND (p.user_id, p.presence_no) >= (?, ?)
      ORDER BY p.user_id, p.presence_no`),
    seek: reader.prepare(`
      SELECT user_id, presence_no FROM durable_places
      WHERE group_no = ? AND place_key = ? AND (user_id, presence_no) >= (?, ?)
      ORDER BY user_id, presence_no LIMIT 1`),
  };
}

/** The latest place of each user. */
function latestOfEach(newestFirst: ReadStatement, groupNo: number, { after, limit }: PageRequest) {
  const found: DurablePresence[] = [];
  /** Goes on after a user; gives the user to go on after, whose many other places are not walked through. */
  const walk = (from: string): string | null => {
    let [user, others] = ['', 0];
    for (const row of newestFirst.iterate(groupNo, from)) {
      if (row[0] === user) {
        others += 1;
        if (others === PATIENCE) return user;
        continue;
      }
      [user, others] = [row[0] as string, 0];
      if (row[3] === 1) found.push(toDurable(row));
      if (found.length === limit) return null;
    }
    return null;
  };
  for (let from = walk(after ?? ''); from !== null; ) from = walk(from);
  return found;
}
