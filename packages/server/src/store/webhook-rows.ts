/** What the drivers of webhooks share: columns, and what a write changes. */
import type { ProjectKey } from '../values/project-key.ts';
import type { Change } from './changes/changes.ts';
import { columnsOf } from './columns.ts';
import type {
  ClaimedWebhook,
  PastTypes,
  StoredWebhookWrite,
  WebhookAttempt,
  WebhookRecord,
  WebhookStart,
  WebhookStatus,
  WebhookStep,
  WebhookStepOutcome,
  WebhookTypes,
} from './ports/webhooks.ts';

/** The position of a webhook that was imported. */
export const LOST_POSITION = -1;

export const typesText = (types: WebhookTypes): string | null =>
  types === null ? null : JSON.stringify(types);
export const parseTypes = (text: string | null): WebhookTypes => (text === null ? null : JSON.parse(text));

/** Past types as they are stored: the position up to which they decide, and the types. */
type StoredPastTypes = readonly (readonly [until: number, types: WebhookTypes])[];
export const parsePastTypes = (text: string): StoredPastTypes => JSON.parse(text);

const toPastTypes = (stored: StoredPastTypes): PastTypes[] =>
  stored.map(([until, types]) => ({ until, types }));

type WebhookRow = readonly [
  id: string,
  url: string,
  types: string | null,
  pastTypes: string,
  status: string,
  createdAt: number,
  secret: string,
  previousSecret: string | null,
  previousValidUntil: number | null,
  position: number,
  positionIndex: number,
];

/** In the order of {@link WebhookRow}, of the table `w`. */
export const WEBHOOK_COLUMNS = `w.id, w.url, w.types, w.past_types, w.status, w.created_at, w.secret, w.previous_secret,
  w.previous_valid_until, w.position, w.position_index`;
const WEBHOOK_COLUMN_COUNT = 11;

/** The webhook of a row that begins with {@link WEBHOOK_COLUMNS}. */
export function toWebhook(row: readonly unknown[]): WebhookRecord {
  const [id, url, types, pastTypes, status, createdAt, ...rest] = row as unknown as WebhookRow;
  const [secret, previousSecret, previousValidUntil, position, index] = rest;
  const start: WebhookStart = position === LOST_POSITION ? 'lost' : { position, index };
  return {
    ...{ id, url, types: parseTypes(types), status: status as WebhookStatus, createdAt, start },
    ...{ secret, previousSecret, previousValidUntil, pastTypes: toPastTypes(parsePastTypes(pastTypes)) },
  };
}

/** The columns of a webhook that is claimed, after those of a {@link WebhookRow}: of `w`, its project `p` and its delivery `d`. */
export const CLAIMED_COLUMNS = `w.version, w.failures, w.failing_since, p.id, w.delivery_id, d.position, d.position_index, d.body`;

/** What the driver puts after them: the key of the project, and the lease. */
export function toClaimed(row: readonly unknown[]): ClaimedWebhook {
  const [version, failures, failingSince, projectId, deliveryId, position, index, body, project, lease] =
    row.slice(WEBHOOK_COLUMN_COUNT) as [
      ...[number, number, number | null, string],
      ...[string | null, number, number, string, ProjectKey, string],
    ];
  return {
    ...toWebhook(row),
    ...{ project, projectId, lease, version, failures, failingSince },
    delivery: deliveryId === null ? null : { id: deliveryId, end: { position, index }, body },
  };
}

/** Of the attempt `a`. */
export const ATTEMPT = columnsOf<WebhookAttempt>({
  webhookId: 'a.delivery_id',
  at: 'a.at',
  status: 'a.status',
  error: 'a.error',
  milliseconds: 'a.milliseconds',
  answer: 'a.answer',
});

/** A write after which a webhook begins anew raises its version to the next multiple of this, and another one by one. */
const BEGINNING = 1_000_000;

/** The SQL of the version after a write; `beginsAnew` is the SQL of whether the webhook begins anew. */
export const versionAfter = (beginsAnew: string) =>
  `CASE WHEN ${beginsAnew} THEN (version / ${BEGINNING} + 1) * ${BEGINNING} ELSE version + 1 END`;

const beginningOf = (version: number) => Math.floor(version / BEGINNING);

interface WebhookFields {
  readonly url: string;
  readonly types: string | null;
  readonly status: string;
}

/** What a write makes of the fields. */
interface WebhookUpdate extends WebhookFields {
  /** The names of those that change. */
  readonly changed: readonly (keyof WebhookFields)[];
  /** The webhook is due at once, and its failures are forgotten: they were those of another URL, or of before its rest. */
  readonly beginsAnew: boolean;
}

export function webhookUpdate(before: WebhookFields, write: StoredWebhookWrite): WebhookUpdate {
  const after: WebhookFields = {
    url: write.url ?? before.url,
    types: write.types === undefined ? before.types : typesText(write.types),
    status: write.status ?? before.status,
  };
  const changed = (['url', 'types', 'status'] as const).filter((field) => before[field] !== after[field]);
  const isActivated = changed.includes('status') && after.status === 'active';
  return { ...after, changed, beginsAnew: isActivated || changed.includes('url') };
}

/** What the webhook has when the holder of a lease reports a step. */
interface LeasedWebhook {
  readonly version: number;
  readonly pastTypes: string;
  readonly status: string;
}

/** The columns of a {@link LeasedWebhook}. */
export const LEASED_WEBHOOK = columnsOf<LeasedWebhook>({
  version: 'version',
  pastTypes: 'past_types',
  status: 'status',
});

/** What a step does to the rows of its webhook. */
export interface StepPlan {
  readonly moved: WebhookStep['moved'] | undefined;
  readonly next: WebhookStep['next'] | undefined;
  readonly failed: WebhookStep['failed'] | undefined;
  readonly isFailing: boolean;
  readonly pastTypes: string;
  readonly isReleased: boolean;
  readonly outcome: WebhookStepOutcome;
}

/**
 * A webhook that was written since it was claimed keeps its position, as the write left it, and what was acknowledged counts. A
 * failure counts too, unless the webhook began anew or rests: a failure at the old URL is none of the new one. The lease ends,
 * unless the webhook has more to report.
 */
export function planStep(id: string, leased: LeasedWebhook, step: WebhookStep): StepPlan {
  const { pastTypes } = leased;
  const isCurrent = leased.version === step.version;
  const { moved, next }: Partial<WebhookStep> = isCurrent ? step : {};
  const hasBegunAnew = beginningOf(leased.version) !== beginningOf(step.version);
  const { failed, isFailing }: Partial<WebhookStep> = leased.status === 'active' && !hasBegunAnew ? step : {};
  const isReleased =
    step.isReleased === true ||
    step.isFailing === true ||
    step.failed !== undefined ||
    (step.next !== undefined && next === undefined);
  const left = parsePastTypes(pastTypes).filter(([until]) => until > step.position);
  return {
    ...{ moved, next, failed, isFailing: isFailing === true },
    pastTypes: isCurrent ? JSON.stringify(left) : pastTypes,
    isReleased,
    outcome: {
      kind: 'updated',
      changes: isFailing === true ? [webhookUpdated(id, ['status'])] : [],
      hasLease: !isReleased,
      isFixed: next !== undefined,
    },
  };
}

/** Of a step whose lease has ended. */
export const LEASE_LOST: WebhookStepOutcome = {
  kind: 'unchanged',
  changes: [],
  hasLease: false,
  isFixed: false,
};

export const webhookUpdated = (webhook: string, fields: readonly string[]): Change => ({
  type: 'webhook.updated',
  webhook,
  fields,
});
