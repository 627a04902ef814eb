import type { PageRequest, TotalPage } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Absent, Stale, UnknownUsers, Written } from '../outcomes.ts';
import type { IdList } from '../worker-threads/packed-ids.ts';
import type { ConditionalContext } from '../write-context.ts';

/** The users that a write adds to a group and those that it removes; no user is in both lists. */
export interface MembershipChange {
  readonly add: IdList;
  readonly remove: IdList;
}

export type ChangeMembersOutcome = Written | Stale | Absent | UnknownUsers;

export interface MemberStore {
  /** Adds and removes; a user who is already a member, or is none, is no error. Packed lists: see `GroupStore.put`. */
  change(
    project: ProjectKey,
    groupId: string,
    change: MembershipChange,
    context: ConditionalContext,
  ): Promise<ChangeMembersOutcome>;
  /** Entries have `id`, `name`, `email`; null when there is no such group. */
  list(project: ProjectKey, groupId: string, page: PageRequest): Promise<TotalPage | null>;
  /** The groups a user belongs to, deleted ones included: `id`, `name`, `status`. Null when there is no such user. */
  listGroups(project: ProjectKey, userId: string, page: PageRequest): Promise<TotalPage | null>;
}
