import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Logger } from 'pino';
import { inTicks } from '../../concurrency/in-ticks.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import { ServiceError } from '../../core/service-error.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import { slices } from '../../values/slices.ts';
import type { Watcher } from './stream-request.ts';
import { ENDED_AT_ONCE, endWithoutAccess } from './watch-access.ts';

/** Within how many ticks every stream is checked once. */
const TICKS_PER_PASS = 50;
/** How many credentials are checked at once. */
const CHECKED_AT_ONCE = 50;

interface Parts {
  readonly store: Store;
  readonly log: Logger;
}

/**
 * Checks the credentials of this process' streams: when they were revoked, and again and again, because a token can reach its
 * end, and so can the previous secret of a project. That pass over all streams takes about a minute, a few streams at each tick.
 * Streams with the same credentials are one check. Whether a reader may still watch the group is checked when that is recorded.
 */
export class CredentialChecks {
  readonly #parts: Parts;
  readonly #sessions: ReadonlySet<Watcher>;
  #pass: IteratorObject<Watcher> = [].values();
  /** How many streams are checked at each tick: enough for the most streams that there were in this pass. */
  #share = 0;
  /** A tick during a check makes another one follow: the next streams wait for an engine that is slow. */
  readonly #pace = new Repeated(() => this.#checkTokens(this.#next()));

  constructor(parts: Parts, sessions: ReadonlySet<Watcher>) {
    this.#parts = parts;
    this.#sessions = sessions;
  }

  /** Call it about once a second. */
  tick(): void {
    void this.#pace.request();
  }

  /** Ends those of these streams that may not continue. An engine that is away ends none. Never rejects. */
  async check(sessions: readonly Watcher[]): Promise<void> {
    await this.#checkTokens(sessions);
    const open = sessions.filter(({ ending }) => ending === null);
    await endWithoutAccess(this.#parts.store, open).catch((error) => this.#ignore(error));
  }

  #next(): Watcher[] {
    this.#share = Math.max(this.#share, Math.ceil(this.#sessions.size / TICKS_PER_PASS));
    const next = [...this.#pass.take(this.#share)];
    if (next.length === this.#share) return next;
    this.#pass = this.#sessions.values();
    this.#share = 0;
    return next;
  }

  async #checkTokens(sessions: readonly Watcher[]): Promise<void> {
    const open = sessions.filter(({ ending }) => ending === null);
    const byToken = [...Map.groupBy(open, (session) => session.request.credentials ?? session).values()];
    for (const [index, some] of [...slices(byToken, CHECKED_AT_ONCE)].entries()) {
      // The embedded store answers within the tick.
      if (index > 0) await nextIteration();
      await Promise.all(some.map((alike) => this.#checkToken(alike)));
    }
  }

  async #checkToken(alike: readonly Watcher[]): Promise<void> {
    const request = alike[0]?.request;
    const credentials = request?.credentials;
    try {
      await request?.checkCredentials?.();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'error') return this.#ignore(error);
      // A socket may have renewed its token meanwhile.
      await inTicks(alike, ENDED_AT_ONCE, (session) => {
        if (session.request.credentials === credentials) session.end(error);
      });
    }
  }

  /** The next pass checks these streams again. */
  #ignore(err: unknown): void {
    if (err instanceof StoreUnavailableError || err instanceof ServiceError) return;
    this.#parts.log.error(
      { err },
      'the credentials of presence streams could not be checked; the next pass checks them again',
    );
  }
}
