import { randomBytes } from 'node:crypto';

export const SECRET_PREFIX = 'whsec_';

/** A new secret of a webhook, as Standard Webhooks writes it: 32 bytes in base64. */
export const newWebhookSecret = (): string => `${SECRET_PREFIX}${randomBytes(32).toString('base64')}`;
