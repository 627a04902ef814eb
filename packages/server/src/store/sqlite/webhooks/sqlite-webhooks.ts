import type { ProjectKey } from '../../../values/project-key.ts';
import { UNCHANGED } from '../../outcomes.ts';
import { PAST_TYPES_MAX, type StoredWebhookWrite, type WebhookPutOutcome } from '../../ports/webhooks.ts';
import {
  ATTEMPT,
  parsePastTypes,
  parseTypes,
  toWebhook,
  typesText,
  versionAfter,
  WEBHOOK_COLUMNS,
  webhookUpdate,
  webhookUpdated,
} from '../../webhook-rows.ts';
import type { WriteContext } from '../../write-context.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Reads, Writes } from '../sqlite-methods.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import { webhookSteps } from './sqlite-webhooks-steps.ts';

export function webhookReads({ prepare }: SqliteReader): Reads<'webhooks'> {
  const find = prepare(`SELECT ${WEBHOOK_COLUMNS} FROM webhooks w WHERE w.project_no = ? AND w.id = ?`);
  const list = prepare(`SELECT ${WEBHOOK_COLUMNS} FROM webhooks w WHERE w.project_no = ? ORDER BY w.id`);
  const attempts = prepare(`
    SELECT ${ATTEMPT.sql} FROM webhook_attempts a
    WHERE a.project_no = ? AND a.webhook_id = ? ORDER BY a.number DESC LIMIT ?`);
  return {
    async find(project, id) {
      const row = find.get(project, id);
      return row === undefined ? null : toWebhook(row);
    },
    list: async (project) => list.all(project).map(toWebhook),
    async attempts(project, id, limit) {
      if (find.get(project, id) === undefined) return null;
      return attempts.all(project, id, limit).map(ATTEMPT.toRecord);
    },
  };
}

export function webhookWrites(connection: SqliteConnection): Writes<'webhooks'> {
  const { prepare } = connection;
  const find = prepare<[url: string, types: string | null, status: string, pastTypes: string]>(
    'SELECT url, types, status, past_types FROM webhooks WHERE project_no = ? AND id = ?',
  );
  const count = prepare<[webhooks: number]>('SELECT count(*) FROM webhooks WHERE project_no = ?');
  // The record of this write is the next one.
  const nextRecord = prepare<[position: number]>(
    'SELECT coalesce(max(position), 0) + 1 FROM changes WHERE project_no = ?',
  );
  const insert = prepare(`
    INSERT INTO webhooks (project_no, id, url, types, status, secret, created_at, position, position_index)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const update = prepare(`
    UPDATE webhooks SET url = ?3, types = ?4, status = ?5, past_types = ?6, version = ${versionAfter('?7')},
      due_at = CASE WHEN ?7 THEN 0 ELSE due_at END,
      failures = CASE WHEN ?7 THEN 0 ELSE failures END,
      failing_since = CASE WHEN ?7 THEN NULL ELSE failing_since END
    WHERE project_no = ?1 AND id = ?2`);
  const rotate = prepare(`
    UPDATE webhooks SET previous_secret = secret, previous_valid_until = ?3, secret = ?4, version = version + 1
    WHERE project_no = ?1 AND id = ?2`);
  const goBack = prepare(`
    UPDATE webhooks SET position = ?3, position_index = ?4, past_types = '[]', delivery_id = NULL, lease = NULL,
      due_at = 0, failures = 0, failing_since = NULL, version = version + 1
    WHERE project_no = ?1 AND id = ?2`);
  const remove = prepare('DELETE FROM webhooks WHERE project_no = ? AND id = ?');
  const deleteDelivery = prepare('DELETE FROM webhook_deliveries WHERE project_no = ? AND webhook_id = ?');
  const deleteAttempts = prepare('DELETE FROM webhook_attempts WHERE project_no = ? AND webhook_id = ?');
  const nextRecordOf = (project: ProjectKey) => nextRecord.get(project)?.[0] as number;

  function create(
    project: ProjectKey,
    id: string,
    { url, types = null, status = 'active', secret, start }: StoredWebhookWrite,
    most: number,
    { now }: WriteContext,
  ): WebhookPutOutcome {
    if (url === undefined) return { kind: 'urlRequired' };
    if ((count.get(project)?.[0] ?? 0) >= most) return { kind: 'full' };
    const { position, index } = start ?? { position: nextRecordOf(project), index: 0 };
    insert.run(...[project, id, url, typesText(types), status, secret, now, position, index]);
    return { kind: 'created', changes: [{ type: 'webhook.created', webhook: id }] };
  }

  return {
    ...webhookSteps(connection),
    put(project, id, write, most, context) {
      const row = find.get(project, id);
      if (row === undefined) return create(project, id, write, most, context);
      const [url, types, status, pastTypes] = row;
      const { changed, beginsAnew, ...after } = webhookUpdate({ url, types, status }, write);
      if (changed.length === 0) return UNCHANGED;
      const past = [...parsePastTypes(pastTypes)];
      // The record of this write is judged by the new types already.
      if (changed.includes('types')) past.push([nextRecordOf(project) - 1, parseTypes(types)]);
      const storedPast = JSON.stringify(past.slice(-PAST_TYPES_MAX));
      const fields = [after.url, after.types, after.status, storedPast] as const;
      update.run(project, id, ...fields, Number(beginsAnew));
      return { kind: 'updated', changes: [webhookUpdated(id, changed)] };
    },
    rotateSecret(project, id, next) {
      if (rotate.run(project, id, next.previousValidUntil, next.secret) === 0) return { kind: 'absent' };
      return { kind: 'updated', changes: [{ type: 'webhook.secret_rotated', webhook: id }] };
    },
    replay(project, id, start) {
      const { position, index } = start ?? { position: nextRecordOf(project), index: 0 };
      deleteDelivery.run(project, id);
      if (goBack.run(project, id, position, index) === 0) return { kind: 'absent' };
      return { kind: 'updated', changes: [{ type: 'webhook.replayed', webhook: id }] };
    },
    delete(project, id) {
      if (remove.run(project, id) === 0) return { kind: 'absent' };
      deleteDelivery.run(project, id);
      deleteAttempts.run(project, id);
      return { kind: 'deleted', changes: [{ type: 'webhook.removed', webhook: id }] };
    },
  };
}
