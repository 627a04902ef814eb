import { limits } from '@rollcall/protocol';
import { ATTEMPT, LEASE_LOST, LEASED_WEBHOOK, planStep } from '../../webhook-rows.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Writes } from '../sqlite-methods.ts';

type Steps = Pick<Writes<'webhooks'>, 'log' | 'advance'>;

const LEASED = 'project_no = ?1 AND id = ?2';

/** What the holder of a lease reports, on the writer's thread. */
export function webhookSteps({ prepare }: SqliteConnection): Steps {
  const find = prepare(`SELECT ${LEASED_WEBHOOK.sql} FROM webhooks WHERE ${LEASED} AND lease = ?3`);
  const takeNumber = prepare<[number: number]>(
    `UPDATE webhooks SET attempts = attempts + 1 WHERE ${LEASED} RETURNING attempts`,
  );
  const insertAttempt = prepare(`
    INSERT INTO webhook_attempts (project_no, webhook_id, number, delivery_id, at, status, error, milliseconds, answer)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const forget = prepare(
    'DELETE FROM webhook_attempts WHERE project_no = ? AND webhook_id = ? AND number <= ?',
  );
  const acknowledge = prepare(`
    UPDATE webhooks SET delivery_id = NULL, due_at = 0, failures = 0, failing_since = NULL,
      (position, position_index) = (
        SELECT position, position_index FROM webhook_deliveries WHERE project_no = ?1 AND webhook_id = ?2)
    WHERE ${LEASED} AND delivery_id IS NOT NULL`);
  const deleteDelivery = prepare('DELETE FROM webhook_deliveries WHERE project_no = ? AND webhook_id = ?');
  const fail = prepare(
    `UPDATE webhooks SET failures = failures + 1, due_at = ?3, failing_since = ?4 WHERE ${LEASED}`,
  );
  const rest = prepare(`UPDATE webhooks SET status = 'failing', version = version + 1 WHERE ${LEASED}`);
  const move = prepare(
    `UPDATE webhooks SET position = ?3, position_index = ?4, past_types = ?5 WHERE ${LEASED}`,
  );
  const setPastTypes = prepare(`UPDATE webhooks SET past_types = ?3 WHERE ${LEASED}`);
  const insertDelivery = prepare(`
    INSERT INTO webhook_deliveries (project_no, webhook_id, position, position_index, body) VALUES (?, ?, ?, ?, ?)`);
  const setDelivery = prepare(`UPDATE webhooks SET delivery_id = ?3 WHERE ${LEASED}`);
  const release = prepare(`UPDATE webhooks SET lease = NULL WHERE ${LEASED}`);

  const log: Steps['log'] = (project, id, attempt) => {
    const number = takeNumber.get(project, id)?.[0];
    if (number === undefined) return;
    insertAttempt.run(project, id, number, ...ATTEMPT.toRow(attempt));
    forget.run(project, id, number - limits.WEBHOOK_ATTEMPTS_MAX);
  };

  return {
    log,
    advance(project, id, lease, step) {
      const leased = LEASED_WEBHOOK.toFound(find.get(project, id, lease));
      if (leased === null) return LEASE_LOST;
      const plan = planStep(id, leased, step);
      const { moved, next, failed, isFailing, pastTypes: left } = plan;
      if (step.attempt !== undefined) log(project, id, step.attempt);
      if (step.acknowledged === true) {
        acknowledge.run(project, id);
        deleteDelivery.run(project, id);
      }
      if (moved !== undefined) move.run(project, id, moved.position, moved.index, left);
      else if (left !== leased.pastTypes) setPastTypes.run(project, id, left);
      if (next !== undefined) {
        insertDelivery.run(project, id, next.end.position, next.end.index, next.body);
        setDelivery.run(project, id, next.id);
      }
      if (failed !== undefined) fail.run(project, id, failed.dueAt, failed.since);
      if (isFailing) rest.run(project, id);
      if (plan.isReleased) release.run(project, id);
      return plan.outcome;
    },
  };
}
