import type { PageRequest } from '../../../values/page.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { DurablePresence } from '../../ports/durable-presence.ts';
import type { Reads } from '../sqlite-methods.ts';
import type { ReadStatement, SqliteReader } from '../sqlite-reader.ts';
import {
  type DurableRow,
  locationStatements,
  MISMATCHES_BEFORE_SEEK,
  readFiltered,
  toDurable,
} from './sqlite-filtered-durable-presence.ts';

/**
 * Reads of durable presence, on the main thread. The cost of a page grows with its entries: it does not depend on how many
 * locations a user has, nor on how many locations have the other pairs of a filter than the rarest. A user set deleted costs
 * {@link MISMATCHES_BEFORE_SEEK} rows at most, so a page costs more where many of them come before its entries.
 */
export function durablePresenceReads({ prepare }: Pick<SqliteReader, 'prepare'>): Reads<'durablePresence'> {
  const group = prepare<[groupNo: number]>('SELECT group_no FROM groups WHERE project_no = ? AND id = ?');
  const newestFirst = prepare<[...DurableRow, isActive: number]>(`
    SELECT d.user_id, d.location, d.updated_at, u.status = 'active'
    FROM durable_presence d INDEXED BY durable_presence_by_time CROSS JOIN users u ON u.user_no = d.user_no
    WHERE d.group_no = ? AND d.user_id > ? ORDER BY d.user_id, d.updated_at DESC`);
  const statements = locationStatements(prepare);
  const numberOf = (project: ProjectKey, id: string) => group.get(project, id)?.[0];
  return {
    async list(project, groupId, filter, page) {
      const groupNo = numberOf(project, groupId);
      if (groupNo === undefined) return [];
      return filter === null
        ? latestOfEach(newestFirst, groupNo, page)
        : readFiltered(statements, groupNo, filter, page);
    },
    async find(project, groupId, userId) {
      const groupNo = numberOf(project, groupId);
      const row = groupNo === undefined ? undefined : statements.newestOfUser.get(groupNo, userId);
      return row === undefined ? null : toDurable(row);
    },
  };
}

/** The latest location of each user. */
function latestOfEach(
  newestFirst: ReadStatement<[...DurableRow, isActive: number]>,
  groupNo: number,
  { after, limit }: PageRequest,
) {
  const found: DurablePresence[] = [];
  /** Reads on after a user; returns the user to go on after, whose many other locations are skipped. */
  const walk = (from: string): string | null => {
    let [user, others] = ['', 0];
    for (const row of newestFirst.iterate(groupNo, from)) {
      if (row[0] === user) {
        others += 1;
        if (others === MISMATCHES_BEFORE_SEEK) return user;
        continue;
      }
      [user, others] = [row[0], 0];
      if (row[3] === 1) found.push(toDurable(row));
      if (found.length === limit) return null;
    }
    return null;
  };
  for (let from = walk(after ?? ''); from !== null; ) from = walk(from);
  return found;
}
