import { WebhookDelivery } from '@rollcall/protocol';
import type { Operation, Parameter } from './openapi-document.ts';
import type { SchemaComponents } from './schema-components.ts';

const header = (name: string, description: string): Parameter => ({
  name,
  in: 'header',
  description,
  required: true,
  schema: { type: 'string' },
});

/** What the server sends to the URL of a webhook: an operation of the receiver. */
export const describeDelivery = (schemas: SchemaComponents): Operation => ({
  operationId: 'receiveDelivery',
  summary: 'Receive what changed',
  description:
    'Deliveries of a webhook come one after the other, each at least once. They follow [Standard Webhooks](https://www.standardwebhooks.com).',
  tags: ['webhooks'],
  security: [],
  parameters: [
    header('webhook-id', 'The same in each attempt of a delivery, which always has the same body.'),
    header('webhook-timestamp', 'When the attempt was made, in seconds since 1970.'),
    header('webhook-signature', 'The signatures of ID, timestamp and body, one for each valid secret.'),
  ],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: schemas.describe(WebhookDelivery) } },
  },
  responses: {
    '2XX': { description: 'Acknowledges the delivery, within 10 seconds. Everything else is a failure.' },
    410: { description: 'The webhook becomes `failing`, and nothing more is sent.' },
  },
});
