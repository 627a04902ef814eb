import { createHmac } from 'node:crypto';
import { SECRET_PREFIX } from '../core/webhooks/webhook-secret.ts';
import type { WebhookSecrets } from '../store/ports/webhooks.ts';

/** The headers of Standard Webhooks for a body that is sent at that time, with each secret that is valid then. */
export function signatureHeaders(
  id: string,
  body: string,
  { secret, previousSecret, previousValidUntil }: WebhookSecrets,
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const hasPrevious = previousSecret !== null && previousValidUntil !== null && now < previousValidUntil;
  const secrets = hasPrevious ? [secret, previousSecret] : [secret];
  const signatures = secrets.map((each) => `v1,${signatureOf(`${id}.${timestamp}.${body}`, each)}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

function signatureOf(content: string, secret: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(content).digest('base64');
}
