import type { ProjectKey } from '../../values/project-key.ts';
import type { Change } from '../changes/changes.ts';
import type { Absent, DeleteOutcome, Updated } from '../outcomes.ts';
import type { WriteContext } from '../write-context.ts';
import type { NewSecret } from './projects.ts';

/** How far a webhook has come in the record of its project's changes. */
export interface StoredPosition {
  /** All records up to this position were passed. */
  readonly position: number;
  /** And so many changes of the record after it. */
  readonly index: number;
}

/** Where a webhook goes on. `lost`: at no position of this store, because the webhook was imported. */
export type WebhookStart = StoredPosition | 'lost';

export type WebhookStatus = 'active' | 'paused' | 'failing';

/** The names of types as the host wrote them; null for all. */
export type WebhookTypes = readonly string[] | null;

/** Types that a webhook had before. They decide about the records up to that position. */
export interface PastTypes {
  readonly until: number;
  readonly types: WebhookTypes;
}

/** One request to the URL of a webhook. */
export interface WebhookAttempt {
  readonly webhookId: string;
  readonly at: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly milliseconds: number;
  /** Without the character U+0000. */
  readonly answer: string | null;
}

export interface WebhookSecrets {
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousValidUntil: number | null;
}

export interface WebhookRecord extends WebhookSecrets {
  readonly id: string;
  readonly url: string;
  readonly types: WebhookTypes;
  /** In the order of their positions. */
  readonly pastTypes: readonly PastTypes[];
  readonly status: WebhookStatus;
  readonly createdAt: number;
  /** After the last delivery that was acknowledged. */
  readonly start: WebhookStart;
}

export interface StoredWebhookWrite {
  readonly url?: string | undefined;
  readonly types?: WebhookTypes | undefined;
  readonly status?: 'active' | 'paused' | undefined;
  /** Used where the webhook is created. */
  readonly secret: string;
  /** Where a webhook that is created begins; null: after the record of its creation, and after all acknowledged writes. */
  readonly start: StoredPosition | null;
}

export type WebhookPutOutcome =
  | { readonly kind: 'created' | 'updated' | 'unchanged'; readonly changes: readonly Change[] }
  /** There is no such webhook, and no URL to create one. */
  | { readonly kind: 'urlRequired' }
  /** There is no such webhook, and the project has `most` of them. */
  | { readonly kind: 'full' };

/** A delivery whose content is fixed: it is the same in each attempt. */
export interface FixedDelivery {
  /** The header `webhook-id`. */
  readonly id: string;
  /** Where the webhook goes on once it was acknowledged. */
  readonly end: StoredPosition;
  readonly body: string;
}

/**
 * What the holder of a lease reports, in one step. Of `acknowledged`, `failed`, `isFailing` and `moved` at most one is there.
 */
export interface WebhookStep {
  /** Recorded among the last attempts. */
  readonly attempt?: WebhookAttempt;
  /** The fixed delivery was acknowledged: the webhook goes on at its end. */
  readonly acknowledged?: true;
  /**
   * The delivery is repeated at `dueAt`. `since`: the first failure since the last success. Ends the lease, and does no more
   * where the webhook has begun anew since, with another URL or set active again, or is not active.
   */
  readonly failed?: { readonly dueAt: number; readonly since: number };
  /** The webhook becomes `failing`, and keeps its delivery. Does no more where `failed` does no more. */
  readonly isFailing?: true;
  /** No change up to here matches the filter. Nothing happens where the webhook was changed since the version. */
  readonly moved?: StoredPosition;
  /** The delivery that is sent next; not fixed where the webhook was changed since the version. */
  readonly next?: FixedDelivery;
  /** Ends the lease. */
  readonly isReleased?: true;
  /** The version of the webhook that the step was made with, and the position that it has passed: earlier past types end. */
  readonly version: number;
  readonly position: number;
}

export interface WebhookStepOutcome {
  readonly kind: 'updated' | 'unchanged';
  /** `webhook.updated` where the status became `failing`. */
  readonly changes: readonly Change[];
  /** The lease goes on. False also where it ended before, and nothing was done. */
  readonly hasLease: boolean;
  /** `next` is the delivery of the webhook now. Where it was not fixed, the lease has ended. */
  readonly isFixed: boolean;
}

/** Names a webhook that is leased. */
interface WebhookLease {
  readonly project: ProjectKey;
  readonly id: string;
  /** Random. No other lease of the webhook has had it. */
  readonly lease: string;
}

/**
 * Webhooks: their fields, how far they have come, the delivery under way, and their last attempts. All writes but
 * {@link WebhookStore.log} and {@link WebhookStore.advance} record a change `webhook.*`.
 *
 * - A delivery is stored before it is first sent, and stays the same until it is acknowledged or the webhook moves.
 * - Types that are changed decide about the records after the newest position of then. All writes that were acknowledged before have
 *   positions up to it.
 * - Bounded: `most` webhooks of a project; the last 100 attempts; ten past types, beyond which the oldest are forgotten.
 */
export interface WebhookStore {
  find(project: ProjectKey, id: string): Promise<WebhookRecord | null>;
  /** All of them, in order of ID. */
  list(project: ProjectKey): Promise<WebhookRecord[]>;
  /** The newest first; null where there is no such webhook. */
  attempts(project: ProjectKey, id: string, limit: number): Promise<WebhookAttempt[] | null>;
  /**
   * Creates or updates. One that is set `active`, or has a new URL, is due at once, and its failures are forgotten. A delivery
   * that is fixed stays.
   */
  put(
    project: ProjectKey,
    id: string,
    write: StoredWebhookWrite,
    most: number,
    context: WriteContext,
  ): Promise<WebhookPutOutcome>;
  /** The secret becomes the previous one, valid until then. */
  rotateSecret(
    project: ProjectKey,
    id: string,
    next: NewSecret,
    context: WriteContext,
  ): Promise<Updated | Absent>;
  /** Moves to the position, or with null after the record of this write. Ends the lease, the delivery and the failures. */
  replay(
    project: ProjectKey,
    id: string,
    start: StoredPosition | null,
    context: WriteContext,
  ): Promise<Updated | Absent>;
  delete(project: ProjectKey, id: string, context: WriteContext): Promise<DeleteOutcome>;
  /** Records an attempt that is of no delivery; nothing where there is no such webhook. */
  log(project: ProjectKey, id: string, attempt: WebhookAttempt): Promise<void>;
  /** Does nothing where the lease has ended, or is another one. */
  advance(
    project: ProjectKey,
    id: string,
    lease: string,
    step: WebhookStep,
    context: WriteContext,
  ): Promise<WebhookStepOutcome>;
}

/** A project with webhooks that may have something to send. */
export interface WebhookWork {
  readonly project: ProjectKey;
  /** How many of its webhooks are active. */
  readonly active: number;
  /** How many of those have something to send; changes that do not match their filter count until they have passed them. */
  readonly behind: number;
  /** How many of those wait until a delivery that failed is repeated. */
  readonly resting: number;
  /** Most records that one of those has not passed. */
  readonly furthest: number;
  /** Whether one of them can be claimed now. */
  readonly isDue: boolean;
}

interface WebhookClaim {
  readonly now: number;
  /** When the leases end, unless they are renewed. */
  readonly until: number;
  /** Tokens for new leases: each webhook gets another one, and at most so many are leased. */
  readonly leases: readonly string[];
  /** Leases that the caller has: they are not taken over, however late it is. */
  readonly own: readonly string[];
  /** Whether deliveries are claimed that have failed before. */
  readonly hasRepeats: boolean;
}

/** A webhook that was leased, with all that is needed to deliver. */
export interface ClaimedWebhook extends WebhookRecord, WebhookLease {
  readonly projectId: string;
  readonly version: number;
  readonly delivery: FixedDelivery | null;
  readonly failures: number;
  /** The first of these failures; null where there are none. */
  readonly failingSince: number | null;
}

/**
 * The leases of deliveries: a webhook with something to send is leased by one process at a time, until a time that the process extends.
 * Each webhook has a lease of its own.
 *
 * A webhook can be claimed when it is active and due, is not leased or its lease is over, and has a fixed delivery, or records
 * that it has not passed. Where its newest attempt is {@link SET_BACK_MS} ahead of `now`, the clock was set back since: it is due. A
 * lease that ends so much later is over.
 */
export interface WebhookLeaseStore {
  /** The projects with active webhooks. Where the engine is in this process, it reads some projects in each event-loop tick. */
  work(claim: Pick<WebhookClaim, 'now' | 'own'>): Promise<WebhookWork[]>;
  /** How many webhooks are `failing`, in all projects. */
  countFailing(): Promise<number>;
  /** Leases webhooks of these projects; of each project those first that have been due longest. */
  claim(projects: readonly ProjectKey[], claim: WebhookClaim): Promise<ClaimedWebhook[]>;
  /** Leases that have not been ended or taken over, of projects that exist, end at `until`. Resolves with their tokens. */
  renew(leases: readonly WebhookLease[], until: number): Promise<string[]>;
}

/** Further ahead than clocks of processes differ and leases last, in milliseconds. */
export const SET_BACK_MS = 300_000;

/** How many past types are stored. */
export const PAST_TYPES_MAX = 10;
