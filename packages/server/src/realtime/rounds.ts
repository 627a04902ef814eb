import type { Logger } from 'pino';
import { ServiceError } from '../core/service-error.ts';
import { type Store, StoreUnavailableError } from '../store/store.ts';
import type { StreamSession } from './stream-session.ts';
import { endRefused } from './watch-rights.ts';

/** Within how many ticks every stream is asked about once. */
const TICKS_PER_ROUND = 50;
/** How many credentials are asked about at once. */
const ASKED_AT_ONCE = 50;

interface Parts {
  readonly store: Store;
  readonly log: Logger;
}

/**
 * Checks again and again whether the credentials of the streams of this process still hold: the notification that ended them
 * may have been lost. A round over all streams takes about a minute, a few streams at each tick; those with the same
 * credentials are one question. Whether a reader may still watch the group is checked by `reconciliation.ts`.
 */
export class Rounds {
  readonly #parts: Parts;
  readonly #sessions: ReadonlySet<StreamSession>;
  #round: Iterator<StreamSession> = [].values();
  /** How many are asked about at each tick: enough for the most streams that there were in this round. */
  #share = 0;
  #isDue = false;
  #isAsking = false;

  constructor(parts: Parts, sessions: ReadonlySet<StreamSession>) {
    this.#parts = parts;
    this.#sessions = sessions;
  }

  /** To be called about once a second. The next streams wait while an engine takes longer than that to answer. */
  tick(): void {
    this.#isDue = true;
    if (!this.#isAsking) void this.#askDue();
  }

  /** Ends those of these streams that may not go on. An engine that is away refuses nobody. Never rejects. */
  async ask(sessions: readonly StreamSession[]): Promise<void> {
    await this.#askTokens(sessions);
    const open = sessions.filter(({ ending }) => ending === null);
    await endRefused(this.#parts.store, open).catch((error) => this.#ignore(error));
  }

  async #askTokens(sessions: readonly StreamSession[]): Promise<void> {
    const alike = [...Map.groupBy(sessions, (session) => session.asked.credentials ?? session).values()];
    for (let from = 0; from < alike.length; from += ASKED_AT_ONCE) {
      await Promise.all(alike.slice(from, from + ASKED_AT_ONCE).map((same) => this.#askToken(same)));
    }
  }

  async #askDue(): Promise<void> {
    this.#isAsking = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#askTokens(this.#next());
    }
    this.#isAsking = false;
  }

  /** The streams whose turn it is; everybody's comes within a minute. */
  #next(): StreamSession[] {
    const sessions: StreamSession[] = [];
    this.#share = Math.max(this.#share, Math.ceil(this.#sessions.size / TICKS_PER_ROUND));
    while (sessions.length < this.#share) {
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = this.#sessions.values();
        this.#share = 0;
        break;
      }
      sessions.push(next.value);
    }
    return sessions;
  }

  async #askToken(same: readonly StreamSession[]): Promise<void> {
    try {
      await same[0]?.asked.stillAllowed?.();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'error') return this.#ignore(error);
      for (const session of same) session.end(error);
    }
  }

  /** They are asked about again with the next round. */
  #ignore(err: unknown): void {
    if (err instanceof StoreUnavailableError || err instanceof ServiceError) return;
    this.#parts.log.error({ err }, 'whether presence streams may go on could not be asked');
  }
}
