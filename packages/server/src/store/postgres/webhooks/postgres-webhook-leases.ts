import { SET_BACK_MS, type WebhookLeaseStore } from '../../ports/webhooks.ts';
import { CLAIMED_COLUMNS, toClaimed, WEBHOOK_COLUMNS } from '../../webhook-rows.ts';
import { planEachTime } from '../connections/postgres-connection.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { arraysOf, textArray } from '../postgres-text.ts';

/** A webhook `w` that is not leased at the time $1, or by the caller's leases $2, and has something to send. */
const CAN_SEND = `w.status = 'active'
  AND (w.due_at <= $1 OR $1 + ${SET_BACK_MS} < (
    SELECT a.at FROM webhook_attempts a
    WHERE a.project_id = w.project_id AND a.webhook_id = w.id AND a.number = w.attempts))
  AND (w.lease IS NULL
    OR ((w.lease_until <= $1 OR w.lease_until > $1 + ${SET_BACK_MS}) AND w.lease <> ALL($2::text[])))
  AND (w.delivery_id IS NOT NULL OR w.position < coalesce(h.position, 0))`;

const WORK = planEachTime(`
  SELECT w.project_id, count(*), bool_or(${CAN_SEND}),
    count(*) FILTER (WHERE w.delivery_id IS NOT NULL OR w.position < coalesce(h.position, 0)),
    count(*) FILTER (WHERE w.failures > 0 AND w.due_at > $1),
    max(greatest(0, coalesce(h.position, 0) - greatest(w.position, 0)))
  FROM webhooks w JOIN projects p ON p.project_id = w.project_id
    LEFT JOIN change_heads h ON h.project_id = w.project_id
  WHERE w.status = 'active' GROUP BY w.project_id`);

/**
 * Whether a webhook `w` still has the delivery of the snapshot, in which its body is read. When PostgreSQL has the lock of `w`, it
 * evaluates this again on the newest row, and the subquery still reads the snapshot. What has changed is left to the next claim.
 */
const HAS_DELIVERY_OF_SNAPSHOT = `w.delivery_id IS NOT DISTINCT FROM (
  SELECT s.delivery_id FROM webhooks s WHERE s.project_id = w.project_id AND s.id = w.id)`;

const CLAIM = planEachTime(`
  WITH found AS (
    SELECT w.project_id, w.id FROM webhooks w LEFT JOIN change_heads h ON h.project_id = w.project_id
    WHERE ${CAN_SEND} AND w.project_id = ANY($3::uuid[]) AND ($4::boolean OR w.failures = 0)
      AND ${HAS_DELIVERY_OF_SNAPSHOT}
    ORDER BY w.due_at LIMIT cardinality($5::text[]) FOR UPDATE OF w SKIP LOCKED),
  numbered AS (SELECT *, row_number() OVER () AS number FROM found),
  leased AS (
    UPDATE webhooks w SET lease = ($5::text[])[n.number], lease_until = $6 FROM numbered n
    WHERE w.project_id = n.project_id AND w.id = n.id
    RETURNING w.*)
  SELECT ${WEBHOOK_COLUMNS}, ${CLAIMED_COLUMNS}, w.project_id, w.lease
  FROM leased w JOIN projects p ON p.project_id = w.project_id
    LEFT JOIN webhook_deliveries d ON d.project_id = w.project_id AND d.webhook_id = w.id`);

const RENEW = `
  UPDATE webhooks w SET lease_until = $4 FROM unnest($1::uuid[], $2::text[], $3::text[]) AS leased(project_id, id, lease)
  WHERE w.project_id = leased.project_id AND w.id = leased.id AND w.lease = leased.lease
    AND EXISTS (SELECT 1 FROM projects p WHERE p.project_id = w.project_id)
  RETURNING w.lease`;

export function webhookLeaseStore({ database }: PostgresEngine): WebhookLeaseStore {
  return {
    async work({ now, own }) {
      const rows = await database.read(WORK, now, textArray(own));
      return rows.map(([project, active, isDue, behind, resting, furthest]) => ({
        project: project as string,
        active: Number(active),
        isDue: isDue === true,
        behind: Number(behind),
        resting: Number(resting),
        furthest: Number(furthest),
      }));
    },
    async countFailing() {
      const [row] = await database.read(`SELECT count(*) FROM webhooks WHERE status = 'failing'`);
      return Number(row?.[0]);
    },
    async claim(projects, { now, until, leases, own, hasRepeats }) {
      const among = textArray(projects as readonly string[]);
      const parameters = [now, textArray(own), among, hasRepeats, textArray(leases), until];
      return (await database.write(CLAIM, ...parameters)).map(toClaimed);
    },
    async renew(leases, until) {
      const columns = arraysOf(leases.map(({ project, id, lease }) => [project, id, lease]));
      return (await database.write(RENEW, ...columns, until)).map(([lease]) => lease as string);
    },
  };
}
