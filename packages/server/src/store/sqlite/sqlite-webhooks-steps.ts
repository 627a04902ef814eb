import { limits } from '@rollcall/protocol';
import type { WebhookStore } from '../ports/webhooks.ts';
import { ATTEMPT, LEASE_LOST, planStep } from '../webhook-rows.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Write } from './sqlite-methods.ts';

type LeasedRow = [version: number, pastTypes: string];

const LEASED = 'project_no = ?1 AND id = ?2';

/** What the holder of a lease reports, on the writer's thread. */
export class WebhookSteps {
  readonly #statements;

  constructor({ prepare }: SqliteConnection) {
    this.#statements = {
      find: prepare<LeasedRow>(`SELECT version, past_types FROM webhooks WHERE ${LEASED} AND lease = ?3`),
      takeNumber: prepare<[number: number]>(
        `UPDATE webhooks SET attempts = attempts + 1 WHERE ${LEASED} RETURNING attempts`,
      ),
      log: prepare(`
        INSERT INTO webhook_attempts
          (project_no, webhook_id, number, delivery_id, at, status, error, milliseconds, answer)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
      forget: prepare('DELETE FROM webhook_attempts WHERE project_no = ? AND webhook_id = ? AND number <= ?'),
      acknowledge: prepare(`
        UPDATE webhooks SET delivery_id = NULL, due_at = 0, failures = 0, failing_since = NULL,
          (position, position_index) = (
            SELECT position, position_index FROM webhook_deliveries WHERE project_no = ?1 AND webhook_id = ?2)
        WHERE ${LEASED} AND delivery_id IS NOT NULL`),
      deleteDelivery: prepare('DELETE FROM webhook_deliveries WHERE project_no = ? AND webhook_id = ?'),
      fail: prepare(`
        UPDATE webhooks SET failures = failures + 1, due_at = ?3, failing_since = ?4 WHERE ${LEASED}`),
      rest: prepare(`UPDATE webhooks SET status = 'failing', version = version + 1 WHERE ${LEASED}`),
      move: prepare(
        `UPDATE webhooks SET position = ?3, position_index = ?4, past_types = ?5 WHERE ${LEASED}`,
      ),
      setPastTypes: prepare(`UPDATE webhooks SET past_types = ?3 WHERE ${LEASED}`),
      insertDelivery: prepare(`
        INSERT INTO webhook_deliveries (project_no, webhook_id, position, position_index, body) VALUES (?, ?, ?, ?, ?)`),
      setDelivery: prepare(`UPDATE webhooks SET delivery_id = ?3 WHERE ${LEASED}`),
      release: prepare(`UPDATE webhooks SET lease = NULL WHERE ${LEASED}`),
    };
  }

  readonly log: Write<WebhookStore['log']> = (project, id, attempt) => {
    const number = this.#statements.takeNumber.get(project, id)?.[0];
    if (number === undefined) return;
    this.#statements.log.run(project, id, number, ...ATTEMPT.toRow(attempt));
    this.#statements.forget.run(project, id, number - limits.WEBHOOK_ATTEMPTS_MAX);
  };

  readonly advance: Write<WebhookStore['advance']> = (project, id, lease, step) => {
    const row = this.#statements.find.get(project, id, lease);
    if (row === undefined) return LEASE_LOST;
    const [version, pastTypes] = row;
    const plan = planStep(id, { version, pastTypes }, step);
    const { moved, next, failed, isFailing, pastTypes: left } = plan;
    if (step.attempt !== undefined) this.log(project, id, step.attempt);
    if (step.acknowledged === true) {
      this.#statements.acknowledge.run(project, id);
      this.#statements.deleteDelivery.run(project, id);
    }
    if (moved !== undefined) this.#statements.move.run(project, id, moved.position, moved.index, left);
    else if (left !== pastTypes) this.#statements.setPastTypes.run(project, id, left);
    if (next !== undefined) {
      this.#statements.insertDelivery.run(project, id, next.end.position, next.end.index, next.body);
      this.#statements.setDelivery.run(project, id, next.id);
    }
    if (failed !== undefined) this.#statements.fail.run(project, id, failed.dueAt, failed.since);
    if (isFailing) this.#statements.rest.run(project, id);
    if (plan.isReleased) this.#statements.release.run(project, id);
    return plan.outcome;
  };
}
