import { limits, WEBHOOK_URL_EXPECTED, type WebhookWrite } from '@rollcall/protocol';
import type { NewSecret } from '../../store/ports/projects.ts';
import type { WebhookAttempt, WebhookRecord } from '../../store/ports/webhooks.ts';
import type { Store } from '../../store/store.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { type ChangeFeed, changesGone } from '../changes/change-feed.ts';
import type { ChangePosition, ChangeStart } from '../changes/change-position.ts';
import type { StoreWrites } from '../changes/store-writes.ts';
import type { Clock } from '../clock.ts';
import { requireFound, webhookNotFound } from '../errors.ts';
import { ServiceError } from '../service-error.ts';
import { requiredToCreate } from '../validation-error.ts';
import { webhookFilter } from './webhook-filter.ts';
import { newWebhookSecret } from './webhook-secret.ts';

/** How many chunks of the record are searched for waiting changes: some 50,000 records. */
const CHUNKS_SEARCHED = 100;

/** The fields without which no webhook is made. */
export const WEBHOOK_REQUIRED = { url: WEBHOOK_URL_EXPECTED };

interface Parts {
  readonly store: Pick<Store, 'webhooks'>;
  readonly changes: ChangeFeed;
  readonly writes: StoreWrites;
  readonly clock: Clock;
}

/** A write as it was received. `after` is null for now. */
type WebhookInput = Omit<WebhookWrite, 'after'> & { readonly after: ChangePosition | null };

/** What a webhook shows of its deliveries. */
interface WebhookState {
  readonly behind: number;
  readonly lastAttempt: WebhookAttempt | null;
}

/** What a write did. The secret is that of a webhook that was created. */
interface WebhookWritten {
  readonly kind: 'created' | 'updated';
  readonly secret: string;
}

/** The rules of webhooks. Each method with an ID throws ServiceError `webhook_not_found`, unless it creates. */
export class WebhookService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async find(project: ProjectKey, id: string): Promise<WebhookRecord> {
    return requireFound(await this.#parts.store.webhooks.find(project, id), () => webhookNotFound(id));
  }

  list(project: ProjectKey): Promise<WebhookRecord[]> {
    return this.#parts.store.webhooks.list(project);
  }

  async state(project: ProjectKey, webhook: WebhookRecord): Promise<WebhookState> {
    const attempts = await this.#parts.store.webhooks.attempts(project, webhook.id, 1);
    return { behind: await this.#countWaiting(project, webhook), lastAttempt: attempts?.[0] ?? null };
  }

  /** The newest first. */
  async attempts(project: ProjectKey, id: string): Promise<WebhookAttempt[]> {
    const attempts = await this.#parts.store.webhooks.attempts(project, id, limits.WEBHOOK_ATTEMPTS_MAX);
    return requireFound(attempts, () => webhookNotFound(id));
  }

  /**
   * Creates or updates.
   * @throws ServiceError for a missing URL, too many webhooks, and 410 where it would go on at a position that is not stored
   */
  async put(writer: Writer, id: string, input: WebhookInput): Promise<WebhookWritten> {
    const { after, ...write } = input;
    const { store, writes } = this.#parts;
    const before = await store.webhooks.find(writer.project, id);
    if (before === null && write.url !== undefined && after !== null)
      await this.#parts.changes.begin(writer.project, after);
    const isActivated = write.status === 'active' && before !== null && before.status !== 'active';
    if (isActivated) await this.#requireStart(writer.project, before);
    const secret = newWebhookSecret();
    const stored = { ...write, secret, start: after };
    // The position was not checked for a webhook that exists: if it is deleted meanwhile, this write must not create it.
    const isUpdate = before !== null && after !== null;
    const most = isUpdate ? 0 : limits.WEBHOOKS_MAX;
    let isDeleted = false;
    const full = () => {
      isDeleted = isUpdate;
      return tooManyWebhooks();
    };
    try {
      const { kind } = await writes.run(
        writer,
        (context) => store.webhooks.put(writer.project, id, stored, most, context),
        { urlRequired: () => requiredToCreate(WEBHOOK_REQUIRED), full },
      );
      return { kind: kind === 'created' ? 'created' : 'updated', secret };
    } catch (error) {
      if (!isDeleted) throw error;
      return this.put(writer, id, input);
    }
  }

  async exists(project: ProjectKey, id: string): Promise<boolean> {
    return (await this.#parts.store.webhooks.find(project, id)) !== null;
  }

  /** The secret before signs too, until then. */
  async rotateSecret(writer: Writer, id: string): Promise<NewSecret> {
    const { store, writes, clock } = this.#parts;
    const next = {
      secret: newWebhookSecret(),
      previousValidUntil: clock.now() + limits.WEBHOOK_OVERLAP_SECONDS * 1_000,
    };
    await writes.run(writer, (context) => store.webhooks.rotateSecret(writer.project, id, next, context), {
      absent: () => webhookNotFound(id),
    });
    return next;
  }

  /** Moves to a position, or with null to the newest. @throws ServiceError 410 where it is not stored */
  async replay(writer: Writer, id: string, after: ChangePosition | null): Promise<void> {
    const { store, writes } = this.#parts;
    await this.find(writer.project, id);
    if (after !== null) await this.#parts.changes.begin(writer.project, after);
    await writes.run(writer, (context) => store.webhooks.replay(writer.project, id, after, context), {
      absent: () => webhookNotFound(id),
    });
  }

  async remove(writer: Writer, id: string): Promise<void> {
    const { store, writes } = this.#parts;
    await writes.run(writer, (context) => store.webhooks.delete(writer.project, id, context), {
      absent: () => webhookNotFound(id),
      stale: () => webhookNotFound(id),
    });
  }

  /** @throws ServiceError 410 where the webhook cannot go on where it stopped */
  async #requireStart(project: ProjectKey, { start }: WebhookRecord): Promise<void> {
    if (start === 'lost') throw changesGone();
    await this.#parts.changes.begin(project, start);
  }

  /** Where changes were removed, also meanwhile, those that are left are counted. */
  async #countWaiting(project: ProjectKey, webhook: WebhookRecord): Promise<number> {
    const requests = webhookFilter(webhook);
    const { start } = webhook;
    let from: ChangeStart | null = start === 'lost' ? null : start;
    let waiting = 0;
    for (let searched = 0; searched < CHUNKS_SEARCHED; searched += 1) {
      const chunk = await unlessGone(this.#parts.changes.chunk(project, from, {}, Number.POSITIVE_INFINITY));
      if (chunk === null) {
        // What was counted is not stored any more.
        [from, waiting] = [null, 0];
        continue;
      }
      for (const { change, record } of chunk.found) if (requests(change.type, record.position)) waiting += 1;
      if (chunk.isEnd || waiting >= limits.WEBHOOK_BEHIND_MAX) break;
      from = chunk.position;
    }
    return Math.min(waiting, limits.WEBHOOK_BEHIND_MAX);
  }
}

/** Null where the position to read from is not stored any more. */
async function unlessGone<Result>(reading: Promise<Result>): Promise<Result | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

const tooManyWebhooks = () =>
  new ServiceError(
    'invalid_request',
    `the project has ${limits.WEBHOOKS_MAX} webhooks, which is the most: delete one first`,
  );
