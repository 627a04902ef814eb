import {
  limits,
  type ValidationErrors,
  WEBHOOK_AFTER_EXPECTED,
  WEBHOOK_URL_EXPECTED,
  WebhookAttempt,
  WebhookAttemptList,
  WebhookCreated,
  WebhookDetails,
  WebhookList,
  WebhookReplay,
  WebhookSecret,
  WebhookWrite,
} from '@rollcall/protocol';
import { type ChangePosition, readPosition } from '../../core/changes/change-position.ts';
import { WEBHOOK_REQUIRED } from '../../core/webhooks/webhook-service.ts';
import { done } from '../../wire/json-answer.ts';
import { presentNewSecret } from '../../wire/presenters.ts';
import {
  presentAttempt,
  presentAttempts,
  presentNewWebhook,
  presentWebhookDetails,
  presentWebhooks,
} from '../../wire/webhook-text.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { operationsOf } from '../operation.ts';
import { NOTHING } from '../schemas.ts';
import { doneAnswer } from './examples.ts';

const operation = operationsOf('project', {
  name: 'webhooks',
  description: 'URLs to which changes are sent, signed as the Standard Webhooks specification says.',
});

const GONE =
  'The changes from there on are not stored any more: read everything anew, and replay from `latest`.';
const SECRET = 'whsec_plJ3nmyCDGBKInavdOK15jsl0mYjRbHV9D2Z1gN3qzA=';
const LATEST = 'latest';

const WEBHOOK_EXAMPLE = {
  id: 'search-index',
  url: 'https://search.example.com/rollcall',
  types: ['user.*', 'group.*'],
  status: 'active',
  created_at: '2026-03-01T09:00:00.000Z',
} as const;
const ATTEMPT_EXAMPLE = {
  webhook_id: 'msg_Qv0aT5c2mGxXh1o3r9ZbLw',
  at: '2026-03-01T09:30:00.000Z',
  status: 200,
  error: null,
  milliseconds: 41,
  answer: '',
};

/** A position in a body; null is the newest. */
const positionOf = (after: string): ChangePosition | null => (after === LATEST ? null : readPosition(after));

function checkAfter(after: unknown, found: ValidationErrors): void {
  if (typeof after === 'string' && after !== LATEST && readPosition(after) === null)
    found.invalid.add('after', WEBHOOK_AFTER_EXPECTED);
}

function checkWrite({ body }: Exchange, found: ValidationErrors, { isWebhookTarget }: HttpServices): void {
  const { url, after } = body as Record<keyof WebhookWrite, unknown>;
  checkAfter(after, found);
  // What is no URL at all is an error of the schema.
  if (typeof url === 'string' && URL.canParse(url) && /^https?:/i.test(url) && !isWebhookTarget(url))
    found.invalid.add('url', WEBHOOK_URL_EXPECTED);
}

const listWebhooks = operation('GET /v1/webhooks', {
  id: 'listWebhooks',
  summary: 'List the webhooks of the project, in order of ID',
  description: `A project has at most ${limits.WEBHOOKS_MAX} webhooks, so the list has no pages.`,
  answer: {
    schema: WebhookList,
    description: 'All of them, without secrets.',
    example: { webhooks: [WEBHOOK_EXAMPLE] },
  },
  async handle({ caller }, { webhooks }) {
    return presentWebhooks(await webhooks.list(caller.project));
  },
});

const getWebhook = operation('GET /v1/webhooks/:id', {
  id: 'getWebhook',
  summary: 'Get a webhook, and how it is doing',
  description:
    '`behind` counts the changes that wait to be delivered. `last_attempt` is the latest delivery and its outcome.',
  answer: {
    schema: WebhookDetails,
    description: 'The webhook, without its secret.',
    example: { ...WEBHOOK_EXAMPLE, behind: 0, last_attempt: ATTEMPT_EXAMPLE },
  },
  async handle({ caller, pathId }, { webhooks }) {
    const webhook = await webhooks.find(caller.project, pathId);
    return presentWebhookDetails(webhook, await webhooks.state(caller.project, webhook));
  },
});

const putWebhook = operation('PUT /v1/webhooks/:id', {
  id: 'putWebhook',
  summary: 'Create or update a webhook',
  description: `Only what is supplied changes; \`url\` is required to create. Created, it is answered 201 with its secret, which is not shown again.

A webhook that is set \`active\` goes on where it stopped. Types that change are of effect for the changes after this one.`,
  body: {
    schema: WebhookWrite,
    examples: {
      whole: {
        summary: 'Create the webhook',
        value: { url: 'https://search.example.com/rollcall', types: ['user.*', 'group.*'] },
      },
      pause: { summary: 'Send nothing for now', value: { status: 'paused' } },
    },
  },
  answer: {
    ...doneAnswer('The webhook was updated.', 'updated webhook search-index'),
    created: {
      schema: WebhookCreated,
      description: 'The webhook was created. Store its secret: it is not shown again.',
      example: { success: true, message: 'created webhook search-index', secret: SECRET },
    },
  },
  creation: {
    required: WEBHOOK_REQUIRED,
    exists: ({ caller, pathId }, { webhooks }) => webhooks.exists(caller.project, pathId),
  },
  errors: {
    invalid_request: `The body is not a valid JSON object, or the project has ${limits.WEBHOOKS_MAX} webhooks.`,
  },
  statuses: { 410: GONE },
  rule: checkWrite,
  async handle(exchange, { webhooks, webhookDeliveries }) {
    const { writer, pathId, body } = exchange;
    const { after = LATEST, ...write } = body;
    const { kind, secret } = await webhooks.put(writer, pathId, { ...write, after: positionOf(after) });
    webhookDeliveries.changed(writer.project);
    if (kind === 'updated') return done(`updated webhook ${pathId}`);
    exchange.isCreated = true;
    return presentNewWebhook(`created webhook ${pathId}`, secret);
  },
});

const deleteWebhook = operation('DELETE /v1/webhooks/:id', {
  id: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Its log of attempts goes with it. A delivery under way may still arrive.',
  answer: doneAnswer('The webhook was deleted.', 'deleted webhook search-index'),
  async handle({ writer, pathId }, { webhooks }) {
    await webhooks.remove(writer, pathId);
    return done(`deleted webhook ${pathId}`);
  },
});

const rotateWebhookSecret = operation('POST /v1/webhooks/:id/rotate-secret', {
  id: 'rotateWebhookSecret',
  summary: "Replace a webhook's secret; the answer shows the new one, once",
  description: 'Deliveries are signed with both secrets for 24 hours. The body may be left out.',
  body: { schema: NOTHING, isOptional: true, examples: { nothing: { value: {} } } },
  answer: {
    schema: WebhookSecret,
    description: 'The new secret. Store it: it is not shown again.',
    example: { secret: SECRET, previous_valid_until: '2026-03-02T09:30:00.000Z' },
  },
  async handle({ writer, pathId }, { webhooks }) {
    return presentNewSecret(await webhooks.rotateSecret(writer, pathId));
  },
});

const listWebhookAttempts = operation('GET /v1/webhooks/:id/attempts', {
  id: 'listWebhookAttempts',
  summary: 'List what was sent for a webhook, and what was answered',
  description:
    "For finding out why deliveries fail: `status` is the receiver's, `error` is why an attempt failed.",
  answer: {
    schema: WebhookAttemptList,
    description: 'The last 100 attempts, the newest first.',
    example: { attempts: [ATTEMPT_EXAMPLE] },
  },
  async handle({ caller, pathId }, { webhooks }) {
    return presentAttempts(await webhooks.attempts(caller.project, pathId));
  },
});

const replayWebhook = operation('POST /v1/webhooks/:id/replay', {
  id: 'replayWebhook',
  summary: 'Move a webhook to a position, backwards or forwards',
  description:
    'Its status stays. The delivery that was waiting is not sent again; its changes are, under another ID, if they follow.',
  body: {
    schema: WebhookReplay,
    examples: { skip: { summary: 'Skip what waits', value: { after: LATEST } } },
  },
  answer: doneAnswer('The webhook was moved.', 'moved webhook search-index'),
  statuses: { 410: GONE },
  rule: ({ body }, found) => checkAfter((body as { after?: unknown }).after, found),
  async handle({ writer, pathId, body }, { webhooks, webhookDeliveries }) {
    await webhooks.replay(writer, pathId, positionOf(body.after));
    webhookDeliveries.changed(writer.project);
    return done(`moved webhook ${pathId}`);
  },
});

const testWebhook = operation('POST /v1/webhooks/:id/test', {
  id: 'testWebhook',
  summary: 'Send a test now, and answer its attempt',
  description:
    'The body that is sent has the type `test` and no changes. It is sent once, whatever the status of the webhook. The body may be left out.',
  body: { schema: NOTHING, isOptional: true, examples: { nothing: { value: {} } } },
  answer: { schema: WebhookAttempt, description: 'The attempt.', example: ATTEMPT_EXAMPLE },
  async handle({ caller, pathId }, { webhooks, webhookTests }) {
    return presentAttempt(await webhookTests.send(caller, await webhooks.find(caller.project, pathId)));
  },
});

export const webhookOperations = [
  listWebhooks,
  getWebhook,
  putWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  listWebhookAttempts,
  replayWebhook,
  testWebhook,
];
