/** Webhooks: what changed is sent to a URL of the host. */
import { CHANGE_FILTERS, RecordedChange } from './change.ts';
import { URL_MAX_LENGTH, WEBHOOK_TYPES_MAX } from './limits.ts';
import {
  exactly,
  integer,
  list,
  maybe,
  meaning,
  object,
  oneOf,
  type Schema,
  type Static,
  text,
  textOrNull,
} from './schema.ts';
import { Done, Id, Timestamp } from './values.ts';

export const WEBHOOK_URL_EXPECTED = `an absolute https URL of at most ${URL_MAX_LENGTH} characters, without user and password; http for networks that the operator allows`;
export const WEBHOOK_AFTER_EXPECTED = 'latest, or the position of a change';

export const WebhookUrl = text({
  'x-meaning': 'Where changes are sent, with POST.',
  maxLength: URL_MAX_LENGTH,
  format: 'http-url',
  'x-text': true,
  description: WEBHOOK_URL_EXPECTED,
});

export const WebhookTypes = list(
  oneOf(CHANGE_FILTERS, {
    description: 'a type of changes such as user.created, or all that begin alike: member.*',
  }),
  {
    'x-meaning': 'Only changes of these types: `member.*` names all that begin so.',
    minItems: 1,
    maxItems: WEBHOOK_TYPES_MAX,
    description: `an array of 1 to ${WEBHOOK_TYPES_MAX} types of changes`,
  },
);

const After = text({ description: WEBHOOK_AFTER_EXPECTED });

/** Body of `PUT /v1/webhooks/<ID>`. */
export const WebhookWrite = exactly(
  {
    url: maybe(WebhookUrl),
    types: meaning(
      maybe(WebhookTypes),
      'Only these types of changes, from now on. Absent at the creation: all.',
    ),
    status: meaning(
      maybe(oneOf(['active', 'paused'], { description: '"active" or "paused"' })),
      'A `paused` webhook sends nothing, and goes on where it stopped when it is set `active`.',
    ),
    after: meaning(
      maybe(After),
      'Where a webhook that is created begins: `next` or the `id` of a change. Absent, or `latest`: now. Of no effect where the webhook exists.',
    ),
  },
  { 'x-meaning': 'The fields of a webhook to change: a field that is not supplied does not change.' },
);
export type WebhookWrite = Static<typeof WebhookWrite>;

/** Body of `POST /v1/webhooks/<ID>/replay`. */
export const WebhookReplay = exactly(
  { after: meaning(After, 'The position to go on from: `next` or the `id` of a change, or `latest`.') },
  { 'x-meaning': 'The position that a webhook moves to.' },
);
export type WebhookReplay = Static<typeof WebhookReplay>;

const TextsOrNull: Schema<string[] | null> = { type: ['array', 'null'], items: { type: 'string' } };
const IntegerOrNull: Schema<number | null> = { type: ['integer', 'null'] };

const fields = {
  id: meaning(Id, 'The ID that the host gave the webhook.'),
  url: meaning(text(), 'Where changes are sent.'),
  types: meaning(TextsOrNull, 'Only these types of changes; null: all.'),
  status: meaning(
    oneOf(['active', 'paused', 'failing']),
    '`failing` is set by the service, after 3 days of failures, a 410, or where its changes are gone: nothing is sent until it is set `active`.',
  ),
  created_at: meaning(Timestamp, 'When the webhook was created.'),
};

export const Webhook = object(fields, { 'x-meaning': 'A webhook, without its secret.' });
export type Webhook = Static<typeof Webhook>;

export const WebhookList = object(
  { webhooks: meaning(list(Webhook), 'In order of ID.') },
  { 'x-meaning': 'All webhooks of a project.' },
);

export const WebhookAttempt = object(
  {
    webhook_id: meaning(
      text(),
      'The header `webhook-id` that was sent: the same in each attempt of a delivery.',
    ),
    at: meaning(Timestamp, 'When it was sent.'),
    status: meaning(IntegerOrNull, 'The status of the answer; null where there was none.'),
    error: meaning(textOrNull(), 'Why the attempt failed; null where it did not.'),
    milliseconds: meaning(integer(), 'How long it took.'),
    answer: meaning(textOrNull(), 'The first KiB of the answer; null where there was none.'),
  },
  { 'x-meaning': 'One request to the URL of a webhook.' },
);
export type WebhookAttempt = Static<typeof WebhookAttempt>;

/** Spreading alone would leave null out of the type. */
const AttemptOrNull: Schema<WebhookAttempt | null> = { ...WebhookAttempt, type: ['object', 'null'] };

export const WebhookDetails = object(
  {
    ...fields,
    behind: meaning(integer(), 'How many changes wait: at most 10,000 are counted.'),
    last_attempt: meaning(AttemptOrNull, 'The newest attempt; null where there was none.'),
  },
  { 'x-meaning': 'A webhook and how it is doing.' },
);

export const WebhookAttemptList = object(
  { attempts: meaning(list(WebhookAttempt), 'The last 100, the newest first.') },
  { 'x-meaning': 'What was sent for a webhook.' },
);

/** The answer of `PUT` where the webhook was created: the only one with its first secret. */
export const WebhookCreated = object(
  {
    ...Done.properties,
    secret: meaning(text(), 'Signs the deliveries. Shown only in this answer.'),
  },
  { 'x-meaning': 'A new webhook, with its secret.' },
);

export const WebhookSecret = object(
  {
    secret: meaning(text(), 'Signs the deliveries from now on. Shown only in this answer.'),
    previous_valid_until: meaning(Timestamp, 'Until when the secret before signs too.'),
  },
  { 'x-meaning': 'A new secret of a webhook.' },
);

/** The body of a delivery, which the service sends. */
export const WebhookDelivery = object(
  {
    type: meaning(oneOf(['changes', 'test']), 'A `test` has no changes.'),
    timestamp: meaning(Timestamp, 'When the delivery was made.'),
    project: meaning(Id, 'The project.'),
    changes: meaning(list(RecordedChange), 'In the order in which they happened.'),
  },
  { 'x-meaning': 'What is sent to a webhook.' },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;
