import type { Status } from '@rollcall/protocol';
import type { GroupRecord } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';

/** A group from (name, status, metadata, connected, revision, …). */
export function toGroup(id: string, row: Row, members: GroupRecord['members']): GroupRecord {
  return {
    id,
    name: row[0] as string,
    status: row[1] as Status,
    metadata: row[2] as string,
    connectedToMessenger: row[3] as boolean,
    revision: row[4] as string,
    members,
  };
}
