import { CLAIMED_COLUMNS, toClaimed, WEBHOOK_COLUMNS } from '../webhook-rows.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Reads, Writes } from './sqlite-methods.ts';
import type { SqliteReader } from './sqlite-reader.ts';

/** A webhook `w` that is not leased at the time ?1, or by the caller's leases ?2. */
const IS_FREE = `(w.lease IS NULL OR (w.lease_until <= ?1 AND w.lease NOT IN (SELECT value FROM json_each(?2))))`;
const NEWEST = `coalesce((SELECT max(c.position) FROM changes c WHERE c.project_no = w.project_no), 0)`;
const HAS_WORK = `(w.delivery_id IS NOT NULL OR w.position < ${NEWEST})`;

export function webhookLeaseReads({ prepare }: SqliteReader): Reads<'webhookLeases'> {
  const work = prepare<
    [project: number, active: number, isDue: number, behind: number, resting: number, furthest: number]
  >(`
    SELECT w.project_no, count(*), max(w.due_at <= ?1 AND ${IS_FREE} AND ${HAS_WORK}), sum(${HAS_WORK}),
      sum(w.failures > 0 AND w.due_at > ?1), max(max(0, ${NEWEST} - max(w.position, 0)))
    FROM webhooks w CROSS JOIN projects p USING (project_no) WHERE w.status = 'active' GROUP BY w.project_no`);
  const failing = prepare<[number]>(`SELECT count(*) FROM webhooks WHERE status = 'failing'`);
  return {
    work: async ({ now, own }) =>
      work.all(now, JSON.stringify(own)).map(([project, active, isDue, behind, resting, furthest]) => ({
        ...{ project, active, isDue: isDue === 1, behind, resting, furthest },
      })),
    countFailing: async () => failing.get()?.[0] ?? 0,
  };
}

/** Leases of webhooks, on the writer's thread. */
export function webhookLeaseWrites({ prepare }: SqliteConnection): Writes<'webhookLeases'> {
  const find = prepare(`
    SELECT ${WEBHOOK_COLUMNS}, ${CLAIMED_COLUMNS}, w.project_no
    FROM json_each(?3) AS wanted CROSS JOIN projects p ON p.project_no = wanted.value
      CROSS JOIN webhooks w INDEXED BY webhooks_active ON w.project_no = p.project_no
      LEFT JOIN webhook_deliveries d ON d.project_no = w.project_no AND d.webhook_id = w.id
    WHERE w.status = 'active' AND w.due_at <= ?1 AND ${IS_FREE} AND ${HAS_WORK} AND (?4 OR w.failures = 0)
    LIMIT ?5`);
  const take = prepare('UPDATE webhooks SET lease = ?3, lease_until = ?4 WHERE project_no = ?1 AND id = ?2');
  const renew = prepare(`
    UPDATE webhooks SET lease_until = ?4 WHERE project_no = ?1 AND id = ?2 AND lease = ?3
      AND EXISTS (SELECT 1 FROM projects WHERE project_no = ?1)`);
  return {
    claim(projects, { now, until, leases, own, hasRepeats }) {
      const among = JSON.stringify(projects);
      const found = find.all(now, JSON.stringify(own), among, Number(hasRepeats), leases.length);
      return found.map((row, index) => {
        const claimed = toClaimed([...row, leases[index]]);
        take.run(claimed.project, claimed.id, claimed.lease, until);
        return claimed;
      });
    },
    renew: (leases, until) =>
      leases
        .filter(({ project, id, lease }) => renew.run(project, id, lease, until) > 0)
        .map(({ lease }) => lease),
  };
}
