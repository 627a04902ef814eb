import { limits } from '@rollcall/protocol';
import type { WebhookStep, WebhookStore } from '../../ports/webhooks.ts';
import { ATTEMPT, LEASE_LOST, LEASED_WEBHOOK, planStep, type StepPlan } from '../../webhook-rows.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { OnDatabase } from '../connections/postgres-database.ts';
import { recordCalls } from '../postgres-changes.ts';
import { ALIVE, assertAlive } from '../postgres-row-writes.ts';

const LEASED = 'project_id = $1 AND id = $2';

const LOCK_LEASED = `
  WITH found AS (SELECT ${LEASED_WEBHOOK.sql} FROM webhooks WHERE ${LEASED} AND lease = $3 FOR UPDATE)
  SELECT ${ALIVE}, found.* FROM (SELECT 1) one LEFT JOIN found ON TRUE`;

export const LOG_ATTEMPT = `
  WITH numbered AS (UPDATE webhooks SET attempts = attempts + 1 WHERE ${LEASED} RETURNING attempts),
  forgotten AS (
    DELETE FROM webhook_attempts WHERE project_id = $1 AND webhook_id = $2
      AND number <= (SELECT attempts - ${limits.WEBHOOK_ATTEMPTS_MAX} FROM numbered))
  INSERT INTO webhook_attempts (project_id, webhook_id, number, delivery_id, at, status, error, milliseconds, answer)
  SELECT $1, $2, attempts, $3, $4, $5, $6, $7, $8 FROM numbered`;

const ACKNOWLEDGE = `
  WITH sent AS (
    DELETE FROM webhook_deliveries WHERE project_id = $1 AND webhook_id = $2 RETURNING position, position_index)
  UPDATE webhooks w SET delivery_id = NULL, due_at = 0, failures = 0, failing_since = NULL,
    position = sent.position, position_index = sent.position_index
  FROM sent WHERE w.project_id = $1 AND w.id = $2`;
const FAIL = `
  UPDATE webhooks SET failures = failures + 1, due_at = $3, failing_since = $4 WHERE ${LEASED}`;
const REST = `UPDATE webhooks SET status = 'failing', version = version + 1 WHERE ${LEASED}`;
const MOVE = `UPDATE webhooks SET position = $3, position_index = $4, past_types = $5 WHERE ${LEASED}`;
const SET_PAST_TYPES = `UPDATE webhooks SET past_types = $3 WHERE ${LEASED}`;
const INSERT_DELIVERY = `
  INSERT INTO webhook_deliveries (project_id, webhook_id, position, position_index, body) VALUES ($1, $2, $3, $4, $5)`;
const SET_DELIVERY = `UPDATE webhooks SET delivery_id = $3 WHERE ${LEASED}`;
const RELEASE = `UPDATE webhooks SET lease = NULL WHERE ${LEASED}`;

/** What the holder of a lease reports: two round trips. */
export const advanceWebhook: OnDatabase<WebhookStore['advance']> = (
  database,
  project,
  id,
  lease,
  step,
  context,
) =>
  database.transaction({ project }, async (transaction) => {
    const [[row]] = await transaction.run([LOCK_LEASED, project, id, lease]);
    const [alive, ...columns] = row as Row;
    assertAlive(alive);
    if (columns[0] === null) return LEASE_LOST;
    const leased = LEASED_WEBHOOK.toRecord(columns);
    const plan = planStep(id, leased, step);
    const calls = [...callsOf(step, plan, leased.pastTypes)];
    await transaction.commit([
      ...calls.map(([sql, ...parameters]): Call => [sql, project, id, ...parameters]),
      ...recordCalls(project, plan.outcome.changes, context),
    ]);
    return plan.outcome;
  });

/** The statements of a step, without the project and the ID, which are the first parameters of each. */
function* callsOf(
  { attempt, acknowledged }: WebhookStep,
  { moved, next, failed, isFailing, pastTypes, isReleased }: StepPlan,
  before: string,
): Generator<Call> {
  if (attempt !== undefined) yield [LOG_ATTEMPT, ...ATTEMPT.toRow(attempt)];
  if (acknowledged === true) yield [ACKNOWLEDGE];
  if (moved !== undefined) yield [MOVE, moved.position, moved.index, pastTypes];
  else if (pastTypes !== before) yield [SET_PAST_TYPES, pastTypes];
  if (next !== undefined) {
    yield [INSERT_DELIVERY, next.end.position, next.end.index, next.body];
    yield [SET_DELIVERY, next.id];
  }
  if (failed !== undefined) yield [FAIL, failed.dueAt, failed.since];
  if (isFailing) yield [REST];
  if (isReleased) yield [RELEASE];
}
