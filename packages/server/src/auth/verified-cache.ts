import type { Verified } from './resolver.ts';

/** How many tokens are cached, and the longest header that is: together a bound on memory. */
const MAX_ENTRIES = 10_000;
const MAX_HEADER_LENGTH = 2_048;
/** After this the token is verified again, so that changes of other processes take effect within a second. */
const FRESH_MS = 1_000;
/** How often the tokens that were not used again are removed at most, in milliseconds; when there is no room, each second. */
const SWEEP_MS = 10_000;

interface Entry<C> {
  caller: C;
  from: number;
  until: number;
}

/**
 * Caches the callers of verified headers for a second at most: a cached header costs a hash, verifying one an HMAC and a
 * read of the store. Only verified tokens are cached, so invalid ones cannot fill it.
 */
export class VerifiedCache<C extends object> {
  /**
   * In order of the first verification. A token that is verified again keeps its entry: a map that loses and gains keys makes a new
   * table again and again, and each refers to the next one until a full collection.
   */
  readonly #entries = new Map<string, Entry<C>>();
  #sweptAt = 0;
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
    this.#sweep(startedAt);
    const until = Math.min(startedAt + FRESH_MS, verified.endsAt);
    const known = this.#entries.get(header);
    if (known === undefined) {
      this.#makeRoom();
      this.#entries.set(header, { caller: verified.caller, from: startedAt, until });
      return;
    }
    known.caller = verified.caller;
    known.from = startedAt;
    known.until = until;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  /** Removes the tokens that were not used again, and those from before the clock was set back. */
  #sweep(now: number): void {
    const isFull = this.#entries.size >= MAX_ENTRIES;
    if (Math.abs(now - this.#sweptAt) < (isFull ? FRESH_MS : SWEEP_MS)) return;
    this.#sweptAt = now;
    for (const [header, { from, until }] of this.#entries)
      if (now < from || now >= until) this.#entries.delete(header);
  }

  #makeRoom(): void {
    if (this.#entries.size < MAX_ENTRIES) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
