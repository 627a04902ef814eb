import type { Status } from '@rollcall/protocol';
import type { Incarnation } from '../../values/incarnation.ts';
import type { ProjectKey } from '../../values/project-key.ts';

/** Whether a user is eligible in a group: null where there is no such resource. */
export interface Eligibility {
  readonly user: Status | null;
  readonly group: Status | null;
  /** Of the membership; null where the user is no member. */
  readonly incarnation: Incarnation | null;
}

/** An active user who is a member of an active group is eligible in it: may be present there. */
export function isEligible(
  eligibility: Eligibility,
): eligibility is Eligibility & { readonly incarnation: Incarnation } {
  const { user, group, incarnation } = eligibility;
  return user === 'active' && group === 'active' && incarnation !== null;
}

export interface EligibilityQuery {
  readonly groupId: string;
  readonly userId: string;
}

/** The users who are eligible for presence. */
export interface EligibilityStore {
  find(project: ProjectKey, groupId: string, userId: string): Promise<Eligibility>;
  /** The same for many at once (1,000 at most), in the order of the queries. */
  findMany(project: ProjectKey, queries: readonly EligibilityQuery[]): Promise<Eligibility[]>;
  /** Of these users, those who are eligible in the group; in ascending order of ID. */
  filter(project: ProjectKey, groupId: string, userIds: readonly string[]): Promise<Map<string, Incarnation>>;
}
