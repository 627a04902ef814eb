import { columnsOf } from '../../columns.ts';
import type { GroupRecord } from '../../ports/groups.ts';
import { GROUP_COLUMNS } from '../../roster-columns.ts';
import type { Row } from '../sqlite-connection.ts';

export const GROUP = columnsOf(GROUP_COLUMNS);

/** The group of a row that begins with its columns. SQLite has a number for a comparison. */
export function toGroup(row: Row, members: GroupRecord['members']): GroupRecord {
  const group = GROUP.toRecord(row);
  return { ...group, connectedToMessenger: Boolean(group.connectedToMessenger), members };
}
