/** The JSON text of webhooks, their attempts, and what is sent to them. */
import type { WebhookAttempt, WebhookRecord } from '../store/ports/webhooks.ts';
import type { Json } from '../values/json.ts';
import { appliedHead } from './json-answer.ts';
import { timestamp } from './timestamp.ts';

const fieldsOf = ({ id, url, types, status, createdAt }: WebhookRecord) => ({
  ...{ id, url, types, status },
  created_at: timestamp(createdAt),
});

const attemptFields = ({ webhookId, at, status, error, milliseconds, answer }: WebhookAttempt) => ({
  webhook_id: webhookId,
  at: timestamp(at),
  ...{ status, error, milliseconds, answer },
});

export const presentWebhooks = (webhooks: readonly WebhookRecord[]): Json =>
  JSON.stringify({ webhooks: webhooks.map(fieldsOf) });

interface State {
  readonly behind: number;
  readonly lastAttempt: WebhookAttempt | null;
}

export const presentWebhookDetails = (webhook: WebhookRecord, { behind, lastAttempt }: State): Json =>
  JSON.stringify({
    ...fieldsOf(webhook),
    behind,
    last_attempt: lastAttempt === null ? null : attemptFields(lastAttempt),
  });

export const presentNewWebhook = (message: string, secret: string): Json =>
  `${appliedHead(message)},"secret":${JSON.stringify(secret)}}`;

export const presentAttempt = (attempt: WebhookAttempt): Json => JSON.stringify(attemptFields(attempt));

export const presentAttempts = (attempts: readonly WebhookAttempt[]): Json =>
  JSON.stringify({ attempts: attempts.map(attemptFields) });

export const deliveryText = (
  type: 'changes' | 'test',
  projectId: string,
  now: number,
  changes: readonly Json[],
): Json =>
  `{"type":"${type}","timestamp":"${timestamp(now)}","project":${JSON.stringify(projectId)},"changes":[${changes.join(',')}]}`;
