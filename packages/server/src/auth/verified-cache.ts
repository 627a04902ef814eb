import type { Verified } from './resolver.ts';

/** How many tokens are cached, and the longest header that is: together a bound on memory. */
const MAX_ENTRIES = 10_000;
const MAX_HEADER_LENGTH = 2_048;
/** After this the token is verified again, so that changes of other processes take effect within a second. */
const FRESH_MS = 1_000;

interface Entry<C> {
  readonly caller: C;
  readonly from: number;
  readonly until: number;
}

/**
 * Caches the callers of verified headers for a second at most: a cached header costs a hash, verifying one an HMAC and a
 * read of the store. Only verified tokens are cached, so invalid ones cannot fill it.
 */
export class VerifiedCache<C extends object> {
  /** In order of verification, so the oldest come first. */
  readonly #entries = new Map<string, Entry<C>>();
  #generation = 0;

  /** Read it before verifying and pass it to {@link put}: a token that was verified before a {@link clear} may be stale and is not stored. */
  get generation(): number {
    return this.#generation;
  }

  /** The caller, when the header was verified less than a second ago and its token has not ended since. */
  find(header: string, now: number): C | undefined {
    const entry = this.#entries.get(header);
    // `from` too, because a clock that was set back must not make an entry last.
    if (entry === undefined || now < entry.from || now >= entry.until) return undefined;
    return entry.caller;
  }

  /** Caches a verified token; `startedAt` is when verifying began, because the store may have changed since. */
  put(header: string, verified: Verified<C>, startedAt: number, generation: number): void {
    if (generation !== this.#generation || header.length > MAX_HEADER_LENGTH) return;
    this.#entries.delete(header);
    this.#dropOldest(startedAt);
    const until = Math.min(startedAt + FRESH_MS, verified.endsAt);
    this.#entries.set(header, { caller: verified.caller, from: startedAt, until });
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  /** Makes room: removes the tokens that were not used again. */
  #dropOldest(now: number): void {
    for (const [header, entry] of this.#entries) {
      if (now < entry.until && this.#entries.size < MAX_ENTRIES) return;
      this.#entries.delete(header);
    }
  }
}
