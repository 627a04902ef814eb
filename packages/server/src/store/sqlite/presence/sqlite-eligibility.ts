import type { Status } from '@rollcall/protocol';
import type { Incarnation } from '../../../values/incarnation.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Eligibility, EligibilityStore } from '../../ports/eligibility.ts';
import type { SqliteReader } from '../sqlite-reader.ts';

/** A user's eligibility in a group, with the numbers of both: an {@link EligibilityRow}. */
export const ELIGIBILITY = `
  SELECT (SELECT status FROM users WHERE project_no = ?1 AND id = ?3), g.status,
    (SELECT user_no FROM memberships m WHERE m.group_no = g.group_no AND m.user_id = ?3), g.group_no,
    (SELECT incarnation FROM memberships m WHERE m.group_no = g.group_no AND m.user_id = ?3)
  FROM (SELECT 1) LEFT JOIN groups g ON g.project_no = ?1 AND g.id = ?2`;

/** The same for members, of whom nearly all queries are: the user is not searched by ID. */
const MEMBER_ELIGIBILITY = `
  SELECT u.status, g.status, m.incarnation FROM groups g
    CROSS JOIN memberships m ON m.group_no = g.group_no AND m.user_id = ?3
    CROSS JOIN users u ON u.user_no = m.user_no
  WHERE g.project_no = ?1 AND g.id = ?2`;

export type EligibilityRow = [
  user: Status | null,
  group: Status | null,
  userNo: number | null,
  groupNo: number | null,
  incarnation: Incarnation | null,
];

export const toEligibility = ([user, group, , , incarnation]: EligibilityRow): Eligibility => ({
  user,
  group,
  incarnation,
});

/** Reads of eligible users, on the main thread. */
export function eligibilityReads({ prepare }: SqliteReader): EligibilityStore {
  const ofMember = prepare<[user: Status, group: Status, Incarnation]>(MEMBER_ELIGIBILITY);
  const ofAnyone = prepare<EligibilityRow>(ELIGIBILITY);
  const eligible = prepare<[userId: string, Incarnation]>(`
    SELECT m.user_id, m.incarnation FROM groups g CROSS JOIN json_each(?3) wanted
      CROSS JOIN memberships m ON m.group_no = g.group_no AND m.user_id = wanted.value
      CROSS JOIN users u ON u.user_no = m.user_no
    WHERE g.project_no = ?1 AND g.id = ?2 AND g.status = 'active' AND u.status = 'active'
    ORDER BY m.user_id`);

  const find = (project: ProjectKey, groupId: string, userId: string): Eligibility => {
    const row = ofMember.get(project, groupId, userId);
    if (row === undefined) return toEligibility(ofAnyone.get(project, groupId, userId) as EligibilityRow);
    const [user, group, incarnation] = row;
    return { user, group, incarnation };
  };
  return {
    find: async (project, groupId, userId) => find(project, groupId, userId),
    findMany: async (project, queries) =>
      queries.map(({ groupId, userId }) => find(project, groupId, userId)),
    filter: async (project, groupId, userIds) =>
      new Map(eligible.all(project, groupId, JSON.stringify(userIds))),
  };
}
