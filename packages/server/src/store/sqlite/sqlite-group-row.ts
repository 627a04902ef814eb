import type { Status } from '@rollcall/protocol';
import type { GroupRecord } from '../ports/groups.ts';

/** The columns of a {@link GroupRow}. */
export const GROUP_COLUMNS = 'name, status, metadata, workspace IS NOT NULL, revision';
export type GroupRow = [
  name: string,
  status: Status,
  metadata: string,
  isConnected: number,
  revision: string,
];

export function toGroup(
  id: string,
  [name, status, metadata, isConnected, revision]: readonly [...GroupRow, ...unknown[]],
  members: GroupRecord['members'],
): GroupRecord {
  return { id, name, status, metadata, connectedToMessenger: isConnected === 1, revision, members };
}
