import { randomBytes } from 'node:crypto';
import { LOST_POSITION } from './webhook-rows.ts';

/** The name of the row of `store_secrets` whose value distinguishes the positions of changes. */
export const CHANGE_EPOCH = 'change_epoch';

/** A new value of that row. */
export const newChangeEpoch = (): Buffer => randomBytes(8);

/** The rest of a new epoch, in SQL of both engines: threads have another one, and webhooks are at no position. */
export const newEpochStatements = (): readonly string[] => [
  `UPDATE webhooks SET status = CASE status WHEN 'active' THEN 'failing' ELSE status END, position = ${LOST_POSITION},
    position_index = 0, past_types = '[]', delivery_id = NULL, lease = NULL, due_at = 0, failures = 0, failing_since = NULL,
    version = version + 1`,
  'DELETE FROM webhook_deliveries',
  `UPDATE threads SET epoch = '${randomBytes(16).toString('hex')}'`,
];
