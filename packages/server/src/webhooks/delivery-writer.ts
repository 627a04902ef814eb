import { randomBytes } from 'node:crypto';
import { limits } from '@rollcall/protocol';
import { Semaphore } from '../concurrency/semaphore.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import type { ChangeChunk, ChangeFeed } from '../core/changes/change-feed.ts';
import { type ChangePosition, type ChangeStart, readPosition } from '../core/changes/change-position.ts';
import type { Clock } from '../core/clock.ts';
import type { WebhookFilter } from '../core/webhooks/webhook-filter.ts';
import type { ClaimedWebhook, FixedDelivery, StoredPosition } from '../store/ports/webhooks.ts';
import type { ProjectKey } from '../values/project-key.ts';
import { presentChange } from '../wire/change-text.ts';
import { deliveryText } from '../wire/webhook-text.ts';

/** How many chunks are read at once, of those that the feed reads: the others are left to requests, which wait for them. */
const READS = 2;
/** How many chunks are searched before the position is stored: some 10,000 records. */
const CHUNKS_SEARCHED = 20;

const newDeliveryId = () => `msg_${randomBytes(16).toString('base64url')}`;

export interface Composed {
  readonly delivery: FixedDelivery | null;
  /** Where the search has come: the end of the delivery, or up to where no change matches. */
  readonly position: StoredPosition;
  /** Nothing follows for now. */
  readonly isEnd: boolean;
  /** The search has passed a change of the webhook itself, so that the fields it was made with may be outdated. */
  readonly isOutdated: boolean;
}

type Webhook = Pick<ClaimedWebhook, 'project' | 'projectId' | 'id'>;

/** Makes deliveries of the record. Webhooks of a project at the same position share a reading. */
export class DeliveryWriter {
  readonly #feed: ChangeFeed;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #reads = new Semaphore({ permits: READS });
  readonly #shared = new SingleFlight<string, ChangeChunk>();

  constructor(feed: ChangeFeed, clock: Pick<Clock, 'now'>) {
    this.#feed = feed;
    this.#clock = clock;
  }

  /** @throws ServiceError 410 where changes after the position were removed */
  async compose(webhook: Webhook, requests: WebhookFilter, from: StoredPosition): Promise<Composed> {
    let position: ChangeStart = from;
    let isOutdated = false;
    for (let searched = 1; ; searched += 1) {
      const chunk = await this.#read(webhook.project, position);
      const selected = select(chunk, webhook, requests);
      isOutdated ||= selected.isOutdated;
      position = selected.end;
      const { texts } = selected;
      const isEnd = chunk.isEnd && !selected.isFull;
      if (texts.length === 0 && !isEnd && searched < CHUNKS_SEARCHED) continue;
      const end = { position: position.position, index: position.index };
      if (texts.length === 0) return { delivery: null, position: end, isEnd, isOutdated };
      const body = deliveryText('changes', webhook.projectId, this.#clock.now(), texts);
      return { delivery: { id: newDeliveryId(), end, body }, position: end, isEnd, isOutdated };
    }
  }

  #read(project: ProjectKey, from: ChangeStart): Promise<ChangeChunk> {
    return this.#shared.run(`${project} ${from.epoch} ${from.position} ${from.index}`, () =>
      this.#reads.run(project, () => this.#feed.chunk(project, from, {}, Number.POSITIVE_INFINITY)),
    );
  }
}

interface Selected {
  readonly texts: readonly string[];
  readonly end: ChangePosition;
  readonly isFull: boolean;
  readonly isOutdated: boolean;
}

/** The changes of a chunk that a webhook requests, as many as one delivery has. */
function select({ found, position }: ChangeChunk, webhook: Webhook, requests: WebhookFilter): Selected {
  const texts: string[] = [];
  let bytes = 0;
  let isOutdated = false;
  for (const each of found) {
    if ('webhook' in each.change && each.change.webhook === webhook.id) isOutdated = true;
    if (!requests(each.change.type, each.record.position)) continue;
    const text = presentChange(each);
    const size = Buffer.byteLength(text);
    texts.push(text);
    bytes += size;
    if (texts.length < limits.WEBHOOK_CHANGES_MAX && bytes <= limits.WEBHOOK_DELIVERY_MAX_BYTES) continue;
    return { texts, end: readPosition(each.id) as ChangePosition, isFull: true, isOutdated };
  }
  return { texts, end: position, isFull: false, isOutdated };
}

/** The body and the ID of a test, which has no changes. */
export const testDelivery = (projectId: string, now: number) => ({
  id: newDeliveryId(),
  body: deliveryText('test', projectId, now, []),
});
