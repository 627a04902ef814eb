import { Semaphore } from '../concurrency/semaphore.ts';
import type { Caller } from '../core/caller.ts';
import type { Clock } from '../core/clock.ts';
import { retryLater, ServiceError } from '../core/service-error.ts';
import type { WebhookAttempt, WebhookRecord } from '../store/ports/webhooks.ts';
import type { Store } from '../store/store.ts';
import { type AttemptSender, Connection } from './attempt-sender.ts';
import { testDelivery } from './delivery-writer.ts';

/** Most tests under way at once, of which a project has a tenth. */
const TESTS_MAX = 100;
const TESTS_PER_PROJECT = 10;

interface Parts {
  readonly store: Pick<Store, 'webhooks'>;
  readonly clock: Clock;
  readonly sender: AttemptSender;
}

/** Sends tests, which are no deliveries: each is sent once, at once. */
export class WebhookTests {
  readonly #parts: Parts;
  readonly #permits = new Semaphore({
    permits: TESTS_MAX,
    permitsPerKey: TESTS_PER_PROJECT,
    waitingPerKey: 0,
    unavailable: tooMany,
  });
  readonly #ending = new AbortController();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  close(): void {
    this.#ending.abort();
  }

  /** Resolves with the attempt, which is among the last attempts then. @throws ServiceError 429, or 503 while the server stops */
  send({ project, projectId }: Caller, webhook: WebhookRecord): Promise<WebhookAttempt> {
    return this.#permits.run(project, async () => {
      const { store, clock, sender } = this.#parts;
      using connection = new Connection();
      const sending = { ...webhook, project, ...testDelivery(projectId, clock.now()), isRepeat: false };
      const outcome = await sender.send(sending, connection, this.#ending.signal);
      if (outcome.isAborted) throw retryLater('the server is stopping; try again');
      await store.webhooks.log(project, webhook.id, outcome.attempt);
      return outcome.attempt;
    });
  }
}

const tooMany = () =>
  new ServiceError(
    'invalid_request',
    'too many tests of webhooks are under way, of this project or of all: wait for them',
    { status: 429, headers: { 'Retry-After': '1' } },
  );
