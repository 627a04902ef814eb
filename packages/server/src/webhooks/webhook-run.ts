import type { Logger } from 'pino';
import { BY_SERVICE } from '../core/changes/origins.ts';
import type { StoreWrites } from '../core/changes/store-writes.ts';
import type { Clock } from '../core/clock.ts';
import { ServiceError } from '../core/service-error.ts';
import { type WebhookFilter, webhookFilter } from '../core/webhooks/webhook-filter.ts';
import type {
  ClaimedWebhook,
  FixedDelivery,
  StoredPosition,
  WebhookStep,
  WebhookStepOutcome,
} from '../store/ports/webhooks.ts';
import type { Store } from '../store/store.ts';
import { type AttemptOutcome, type AttemptSender, Connection } from './attempt-sender.ts';
import type { Composed, DeliveryWriter } from './delivery-writer.ts';
import { hasFailedLongEnough, repeatAt } from './retry-schedule.ts';

/** How long a webhook stays leased that has nothing to send, so that the next change is sent without a claim, in milliseconds. */
const LINGER_MS = 2_000;
/** How often the position of a webhook that requests none of the changes is stored meanwhile, in milliseconds. */
const MOVE_EVERY_MS = 10_000;

export interface RunParts {
  readonly store: Pick<Store, 'webhooks'>;
  readonly writes: StoreWrites;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sender: AttemptSender;
  readonly writer: DeliveryWriter;
  attempted(outcome: AttemptOutcome): void;
  /** A delivery is repeated then. */
  repeats(dueAt: number): void;
}

type Step = Omit<WebhookStep, 'version' | 'position'>;

/** Delivers for one webhook that is leased, one delivery after the other, until there is nothing to send or one fails. */
export class WebhookRun {
  readonly webhook: ClaimedWebhook;
  readonly #parts: RunParts;
  readonly #filter: WebhookFilter;
  readonly #aborting = new AbortController();
  #leasedUntil: number;
  #position: StoredPosition;
  #delivery: FixedDelivery | null;
  /** The newest position that was notified. */
  #newest = 0;
  #movedAt: number;
  #wake: () => void = () => {};
  #isLingering = false;
  #isEnding = false;

  /** @param leasedUntil until when the lease goes on for certain, on the clock of `performance.now()` */
  constructor(webhook: ClaimedWebhook, leasedUntil: number, parts: RunParts) {
    this.webhook = webhook;
    this.#leasedUntil = leasedUntil;
    this.#parts = parts;
    this.#filter = webhookFilter(webhook);
    this.#delivery = webhook.delivery;
    this.#position = typeof webhook.start === 'string' ? { position: 0, index: 0 } : webhook.start;
    this.#movedAt = performance.now();
  }

  /** Bytes of the delivery that is in memory. */
  get bytes(): number {
    return this.#delivery?.body.length ?? 0;
  }

  get isLingering(): boolean {
    return this.#isLingering;
  }

  /** The newest record of the project has this position. */
  notify(newest: number): void {
    this.#newest = Math.max(this.#newest, newest);
    this.#wake();
  }

  /** The lease was renewed, and goes on until then. */
  renewed(leasedUntil: number): void {
    this.#leasedUntil = leasedUntil;
  }

  /** Ends after the attempt or the search under way. */
  end(): void {
    this.#isEnding = true;
    this.#wake();
  }

  /** Ends the attempt under way too; its delivery is sent again by the process that leases the webhook next. */
  abort(): void {
    this.end();
    this.#aborting.abort();
  }

  /** @throws what the store fails with, also ProjectGoneError; the lease ends by its time then */
  async run(): Promise<void> {
    using connection = new Connection();
    for (;;) {
      if (this.#delivery === null && !(await this.#fixNext())) return;
      if (!this.#goesOn) return this.#release();
      if (!(await this.#attempt(connection))) return;
    }
  }

  get #goesOn(): boolean {
    return !this.#isEnding && performance.now() < this.#leasedUntil;
  }

  /** Waits for changes that match the filter, and fixes the next delivery. False when the lease has ended. */
  async #fixNext(): Promise<boolean> {
    for (;;) {
      const composed = await this.#compose();
      if (composed === null) {
        await this.#rest({});
        return false;
      }
      this.#position = composed.position;
      if (composed.delivery !== null) {
        const next = composed.delivery;
        if (!(await this.#advance({ next })).isFixed) return false;
        this.#delivery = next;
        return true;
      }
      // A search of a long record ends with the lease too.
      if (composed.isOutdated || !this.#goesOn || (composed.isEnd && !(await this.#linger()))) {
        await this.#release();
        return false;
      }
      await this.#storePosition();
    }
  }

  /** Null where the changes are not stored any more. */
  async #compose(): Promise<Composed | null> {
    try {
      return await this.#parts.writer.compose(this.webhook, this.#filter, this.#position);
    } catch (error) {
      if (error instanceof ServiceError && error.status === 410) return null;
      throw error;
    }
  }

  /** Whether something was recorded before the time is over. */
  async #linger(): Promise<boolean> {
    if (this.#newest > this.#position.position) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LINGER_MS).unref();
    this.#wake = resolve;
    this.#isLingering = true;
    await promise;
    clearTimeout(timer);
    this.#isLingering = false;
    return this.#newest > this.#position.position && !this.#isEnding;
  }

  async #storePosition(): Promise<void> {
    if (performance.now() - this.#movedAt < MOVE_EVERY_MS) return;
    this.#movedAt = performance.now();
    await this.#advance({ moved: this.#position });
  }

  /** One attempt. True when it was acknowledged, and the webhook is still leased. */
  async #attempt(connection: Connection): Promise<boolean> {
    const { sender, clock } = this.#parts;
    const { failures } = this.webhook;
    const { id, body, end } = this.#delivery as FixedDelivery;
    const sending = { ...this.webhook, id, body, isRepeat: failures > 0 };
    const outcome = await sender.send(sending, connection, this.#aborting.signal);
    const { attempt, isAborted, isAcknowledged, isGone, retryAfter } = outcome;
    if (isAborted) {
      await this.#advance({ attempt, isReleased: true });
      return false;
    }
    this.#parts.attempted(outcome);
    if (isAcknowledged) return this.#acknowledged(outcome, end);
    const now = clock.now();
    const since = failures === 0 ? now : Math.min(now, this.webhook.failingSince ?? now);
    if (isGone || hasFailedLongEnough(now, since)) await this.#rest({ attempt });
    else {
      const dueAt = repeatAt(now, failures + 1, retryAfter);
      await this.#advance({ attempt, failed: { dueAt, since } });
      this.#parts.repeats(dueAt);
    }
    return false;
  }

  /** Stores the acknowledgement, and with it the delivery that follows, if there is one already. */
  async #acknowledged({ attempt }: AttemptOutcome, end: StoredPosition): Promise<boolean> {
    this.#position = end;
    this.#delivery = null;
    const isEnding = this.#isEnding || this.webhook.failures > 0;
    // A webhook that has recovered is claimed again, as one without failures.
    const next = isEnding ? null : ((await this.#compose())?.delivery ?? null);
    const step: Step = { attempt, acknowledged: true, ...(isEnding && { isReleased: true }) };
    const outcome = await this.#advance(next === null ? step : { ...step, next });
    if (isEnding) this.#parts.repeats(this.#parts.clock.now());
    if (!outcome.hasLease) return false;
    this.#delivery = outcome.isFixed ? next : null;
    return true;
  }

  async #release(): Promise<void> {
    await this.#advance(
      this.#delivery === null ? { moved: this.#position, isReleased: true } : { isReleased: true },
    );
  }

  async #rest(step: Step): Promise<void> {
    const { projectId, id } = this.webhook;
    const { changes } = await this.#advance({ ...step, isFailing: true });
    if (changes.length === 0) return;
    this.#parts.log.warn(
      { projectId, webhook: id },
      'a webhook is failing: its receiver answered 410, failed for 3 days, or its changes are not stored any more',
    );
  }

  async #advance(step: Step): Promise<WebhookStepOutcome> {
    const { store, writes } = this.#parts;
    const { project, id, lease, version, createdAt } = this.webhook;
    const { position } = step.next?.end ?? this.#position;
    const outcome = await writes.run(
      { ...BY_SERVICE, project },
      (context) => store.webhooks.advance(project, id, lease, { ...step, version, position }, context),
      {},
    );
    if (outcome.kind === 'unchanged' && step.attempt !== undefined) {
      // The attempt was made, also where a replay has ended the lease. One that was deleted and created again did not make it.
      const current = await store.webhooks.find(project, id);
      if (current?.createdAt === createdAt) await store.webhooks.log(project, id, step.attempt);
    }
    return outcome;
  }
}
