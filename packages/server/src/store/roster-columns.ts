/** The columns of users and groups, which have the same names on both engines. */
import type { SqlOf } from './columns.ts';
import type { GroupRecord } from './ports/groups.ts';
import type { UserRecord } from './ports/users.ts';

export const USER_COLUMNS = {
  id: 'id',
  name: 'name',
  shortName: 'short_name',
  email: 'email',
  profilePictureUrl: 'profile_picture_url',
  status: 'status',
  metadata: 'metadata',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  revision: 'revision',
} as const satisfies SqlOf<UserRecord>;

/** The fields of a user that a write can change, in the order of its parameters. The API has the names of their columns. */
export const WRITTEN_FIELDS = [
  'name',
  'shortName',
  'email',
  'profilePictureUrl',
  'status',
  'metadata',
] as const;
export type WrittenField = (typeof WRITTEN_FIELDS)[number];

export type GroupFields = Omit<GroupRecord, 'members'>;

export const GROUP_COLUMNS: SqlOf<GroupFields> = {
  id: 'id',
  name: 'name',
  status: 'status',
  metadata: 'metadata',
  connectedToMessenger: 'workspace IS NOT NULL',
  revision: 'revision',
};
