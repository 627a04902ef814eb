import { setImmediate as nextIteration } from 'node:timers/promises';
import { SET_BACK_MS, type WebhookWork } from '../../ports/webhooks.ts';
import { CLAIMED_COLUMNS, toClaimed, WEBHOOK_COLUMNS } from '../../webhook-rows.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Reads, Writes } from '../sqlite-methods.ts';
import type { SqliteReader } from '../sqlite-reader.ts';

/** A webhook `w` that is not leased at the time ?1, or by the caller's leases ?2. */
const IS_FREE = `(w.lease IS NULL OR ((w.lease_until <= ?1 OR w.lease_until > ?1 + ${SET_BACK_MS})
  AND w.lease NOT IN (SELECT value FROM json_each(?2))))`;
const IS_DUE = `(w.due_at <= ?1 OR ?1 + ${SET_BACK_MS} < (
  SELECT a.at FROM webhook_attempts a
  WHERE a.project_no = w.project_no AND a.webhook_id = w.id AND a.number = w.attempts))`;
const newestOf = (row: string) =>
  `coalesce((SELECT max(c.position) FROM changes c WHERE c.project_no = ${row}.project_no), 0)`;
/** Whether the webhook `w` has something to send, where its project's newest position is that. */
const hasWork = (newest: string) => `(w.delivery_id IS NOT NULL OR w.position < ${newest})`;

/** Projects whose webhooks are read in one event-loop tick: some milliseconds, where each has as many as it may have. */
const PROJECTS_AT_ONCE = 20;

export function webhookLeaseReads({ prepare }: SqliteReader): Reads<'webhookLeases'> {
  const work = prepare<
    [project: number, active: number, isDue: number, behind: number, resting: number, furthest: number]
  >(`
    WITH some AS MATERIALIZED (
      SELECT w.project_no FROM webhooks w INDEXED BY webhooks_active CROSS JOIN projects p USING (project_no)
      WHERE w.status = 'active' AND w.project_no > ?3 GROUP BY w.project_no ORDER BY w.project_no LIMIT ${PROJECTS_AT_ONCE}),
    heads AS MATERIALIZED (SELECT some.project_no, ${newestOf('some')} AS newest FROM some)
    SELECT w.project_no, count(*), max(${IS_DUE} AND ${IS_FREE} AND ${hasWork('h.newest')}), sum(${hasWork('h.newest')}),
      sum(w.failures > 0 AND w.due_at > ?1), max(max(0, h.newest - max(w.position, 0)))
    FROM heads h CROSS JOIN webhooks w INDEXED BY webhooks_active ON w.project_no = h.project_no
    WHERE w.status = 'active' GROUP BY h.project_no ORDER BY h.project_no`);
  const failing = prepare<[number]>(`SELECT count(*) FROM webhooks WHERE status = 'failing'`);
  return {
    async work({ now, own }) {
      const found: WebhookWork[] = [];
      for (let after = 0; ; ) {
        const rows = work.all(now, JSON.stringify(own), after);
        for (const [project, active, isDue, behind, resting, furthest] of rows)
          found.push({ project, active, isDue: isDue === 1, behind, resting, furthest });
        const last = rows[PROJECTS_AT_ONCE - 1];
        if (last === undefined) return found;
        [after] = last;
        await nextIteration();
      }
    },
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
    WHERE w.status = 'active' AND ${IS_DUE} AND ${IS_FREE} AND ${hasWork(newestOf('w'))} AND (?4 OR w.failures = 0)
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
