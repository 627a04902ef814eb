import type { ProjectKey } from '../../../values/project-key.ts';
import type { Change } from '../../changes/changes.ts';
import { UNCHANGED } from '../../outcomes.ts';
import {
  PAST_TYPES_MAX,
  type StoredWebhookWrite,
  type WebhookPutOutcome,
  type WebhookStore,
} from '../../ports/webhooks.ts';
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
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { OnDatabase, Transaction } from '../connections/postgres-database.ts';
import { orderedAround, originOf, recordCalls, recorded, textOfChanges } from '../postgres-changes.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { ALIVE, assertAlive } from '../postgres-row-writes.ts';
import { advanceWebhook, LOG_ATTEMPT } from './postgres-webhooks-steps.ts';

const FIND = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks w WHERE w.project_id = $1 AND w.id = $2`;
const LIST = `SELECT ${WEBHOOK_COLUMNS} FROM webhooks w WHERE w.project_id = $1 ORDER BY w.id`;

/** One row without an attempt where there is none; no row where there is no such webhook. */
const LIST_ATTEMPTS = `
  SELECT ${ATTEMPT.sql} FROM webhooks w
    LEFT JOIN webhook_attempts a ON a.project_id = w.project_id AND a.webhook_id = w.id
  WHERE w.project_id = $1 AND w.id = $2 ORDER BY a.number DESC LIMIT $3::bigint`;

const LOCK = `
  WITH found AS (
    SELECT url, types, status, past_types FROM webhooks WHERE project_id = $1 AND id = $2 FOR UPDATE)
  SELECT ${ALIVE}, found.* FROM (SELECT 1) one LEFT JOIN found ON TRUE`;
/** One write of a project's webhooks at a time, so that those are counted. */
const LOCK_PROJECT = 'SELECT 1 FROM projects WHERE project_id = $1 FOR NO KEY UPDATE';
const COUNT = 'SELECT count(*) FROM webhooks WHERE project_id = $1';

const NEWEST = 'coalesce((SELECT position FROM change_heads WHERE project_id = $1), 0)';

const INSERT = `
  INSERT INTO webhooks (project_id, id, url, types, status, secret, created_at, position, position_index)
  SELECT $1, $2, $3, $4, $5, $6, $7, coalesce($8::bigint, ${NEWEST}), $9`;

/** $6: the past types with a `$` for the newest position, where the types change. */
const UPDATE = `
  UPDATE webhooks SET url = $3, types = $4, status = $5, version = ${versionAfter('$7')},
    past_types = CASE WHEN $6::text IS NULL THEN past_types ELSE replace($6::text, '$', ${NEWEST}::text) END,
    due_at = CASE WHEN $7 THEN 0 ELSE due_at END,
    failures = CASE WHEN $7 THEN 0 ELSE failures END,
    failing_since = CASE WHEN $7 THEN NULL ELSE failing_since END
  WHERE project_id = $1 AND id = $2`;

const ROTATE = `
  WITH changed AS (
    UPDATE webhooks SET previous_secret = secret, previous_valid_until = $3, secret = $4, version = version + 1
    WHERE project_id = $1 AND id = $2 RETURNING 1),
  ${recorded('SELECT $8::text FROM changed', 5)}
  SELECT 1 FROM changed`;

const REPLAY = `
  UPDATE webhooks SET position = coalesce($3::bigint, ${NEWEST}), position_index = $4, past_types = '[]',
    delivery_id = NULL, lease = NULL, due_at = 0, failures = 0, failing_since = NULL, version = version + 1
  WHERE project_id = $1 AND id = $2`;

/** Moves a webhook after the record of its own write, which is the first like it after the newest position of before. */
const BEGIN_AFTER_RECORD = `
  UPDATE webhooks w SET position = coalesce((
    SELECT c.position FROM changes c
    WHERE c.project_id = $1 AND c.position > w.position AND c.changes = $3 ORDER BY c.position LIMIT 1), w.position)
  WHERE w.project_id = $1 AND w.id = $2`;

/** Calls of a write that lets the webhook begin after the record of that write. */
const beginningAfter = (
  project: ProjectKey,
  id: string,
  changes: readonly Change[],
  calls: readonly Call[],
): Call[] => [...orderedAround(...calls), [BEGIN_AFTER_RECORD, project, id, textOfChanges(changes)]];

const DELETE = `
  WITH gone AS (DELETE FROM webhooks WHERE project_id = $1 AND id = $2 RETURNING 1),
  ${recorded('SELECT $6::text FROM gone', 3)}
  SELECT 1 FROM gone`;
const DELETE_DELIVERY = 'DELETE FROM webhook_deliveries WHERE project_id = $1 AND webhook_id = $2';
const DELETE_ATTEMPTS = 'DELETE FROM webhook_attempts WHERE project_id = $1 AND webhook_id = $2';

export function webhookStore({ database }: PostgresEngine): WebhookStore {
  return {
    find: (project, id) => database.readOne(toWebhook, FIND, project, id),
    list: async (project) => (await database.read(LIST, project)).map(toWebhook),
    async attempts(project, id, limit) {
      const rows = await database.read(LIST_ATTEMPTS, project, id, limit);
      if (rows.length === 0) return null;
      return rows.filter(([deliveryId]) => deliveryId !== null).map(ATTEMPT.toRecord);
    },
    put: (...parameters) => putWebhook(database, ...parameters),
    async rotateSecret(project, id, { secret, previousValidUntil }, context) {
      const changes = [{ type: 'webhook.secret_rotated', webhook: id }] as const;
      const parameters = [previousValidUntil, secret, ...originOf(context), textOfChanges(changes)];
      const isRotated = await database.changesRows(ROTATE, project, id, ...parameters);
      return isRotated ? { kind: 'updated', changes } : { kind: 'absent' };
    },
    replay: (...parameters) => replayWebhook(database, ...parameters),
    delete: (...parameters) => deleteWebhook(database, ...parameters),
    async log(project, id, attempt) {
      await database.write(LOG_ATTEMPT, project, id, ...ATTEMPT.toRow(attempt));
    },
    advance: (...parameters) => advanceWebhook(database, ...parameters),
  };
}

interface Locked {
  readonly url: string;
  readonly types: string | null;
  readonly status: string;
  readonly pastTypes: string;
}

/** The answer of {@link LOCK}: null where there is no such webhook. @throws ProjectGoneError */
function toLocked([row]: readonly Row[]): Locked | null {
  const [alive, url, types, status, pastTypes] = row as Row;
  assertAlive(alive);
  return url === null ? null : ({ url, types, status, pastTypes } as Locked);
}

const putWebhook: OnDatabase<WebhookStore['put']> = (database, project, id, write, most, context) =>
  database.transaction({ project }, async (transaction) => {
    const [, locked, [count]] = await transaction.run(
      [LOCK_PROJECT, project],
      [LOCK, project, id],
      [COUNT, project],
    );
    const found = toLocked(locked);
    if (found === null) return create(transaction, project, id, write, Number(count?.[0]) >= most, context);
    const { pastTypes, ...before } = found;
    const { changed, beginsAnew, ...after } = webhookUpdate(before, write);
    if (changed.length === 0) return UNCHANGED;
    const changes = [webhookUpdated(id, changed)];
    const past = changed.includes('types') ? withPast(pastTypes, before.types) : null;
    const fields = [after.url, after.types, after.status, past, beginsAnew];
    const update = [UPDATE, project, id, ...fields] as const;
    await transaction.commit([
      ...(past === null ? [update] : orderedAround(update)),
      ...recordCalls(project, changes, context),
    ]);
    return { kind: 'updated', changes };
  });

async function create(
  transaction: Transaction,
  project: ProjectKey,
  id: string,
  { url, types = null, status = 'active', secret, start }: StoredWebhookWrite,
  isFull: boolean,
  context: WriteContext,
): Promise<WebhookPutOutcome> {
  if (url === undefined) return { kind: 'urlRequired' };
  if (isFull) return { kind: 'full' };
  const changes = [{ type: 'webhook.created', webhook: id }] as const;
  const fields = [url, typesText(types), status, secret, context.now];
  const from = [start?.position ?? null, start?.index ?? 0];
  const calls = [
    [INSERT, project, id, ...fields, ...from] as const,
    ...recordCalls(project, changes, context),
  ];
  await transaction.commit(start === null ? beginningAfter(project, id, changes, calls) : calls);
  return { kind: 'created', changes };
}

/** The past types with one more up to the position `$`: no name of a type has this character. */
function withPast(pastTypes: string, types: string | null): string {
  const all = [...parsePastTypes(pastTypes), ['$', parseTypes(types)]].slice(-PAST_TYPES_MAX);
  return JSON.stringify(all).replace('"$"', '$');
}

const replayWebhook: OnDatabase<WebhookStore['replay']> = (database, project, id, start, context) =>
  database.transaction({ project }, async (transaction) => {
    const [locked] = await transaction.run([LOCK, project, id]);
    if (toLocked(locked) === null) return { kind: 'absent' };
    const changes = [{ type: 'webhook.replayed', webhook: id }] as const;
    const calls = [
      [REPLAY, project, id, start?.position ?? null, start?.index ?? 0] as const,
      [DELETE_DELIVERY, project, id] as const,
      ...recordCalls(project, changes, context),
    ];
    await transaction.commit(start === null ? beginningAfter(project, id, changes, calls) : calls);
    return { kind: 'updated', changes };
  });

const deleteWebhook: OnDatabase<WebhookStore['delete']> = (database, project, id, context) =>
  database.transaction({ project }, async (transaction) => {
    const changes = [{ type: 'webhook.removed', webhook: id }] as const;
    // The row comes first, as in every other write of a webhook.
    const [gone] = await transaction.commit([
      [DELETE, project, id, ...originOf(context), textOfChanges(changes)],
      [DELETE_DELIVERY, project, id],
      [DELETE_ATTEMPTS, project, id],
    ]);
    return gone?.length === 0 ? { kind: 'absent' } : { kind: 'deleted', changes };
  });
