import type { Verified } from './resolver.ts';

/** How many tokens are cached, and the longest header that is: together a bound on memory. */
const MAX_ENTRIES = 10_000;
const MAX_HEADER_LENGTH = 2_048;
/** After this what a token was verified with is read again, so that changes of other processes take effect within a second. */
const FRESH_MS = 1_000;
/** Tokens that were not used for so long are removed, in milliseconds; when there is no room, those of the last second stay. */
const UNUSED_MAX_MS = 60_000;

interface Entry<C> {
  verified: Verified<C>;
  from: number;
  usedAt: number;
}

/**
 * Caches the callers of verified headers: a cached header costs a hash, verifying one an HMAC and a read of the store. A caller is
 * valid while what its token was verified with was read less than a second ago; for the tokens of a project that is one read. Only
 * verified tokens are cached, so invalid ones cannot fill it.
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

  /** The caller, when what the header was verified with was read less than a second ago and its token has not ended since. */
  find(header: string, now: number): C | undefined {
    const entry = this.#entries.get(header);
    if (entry === undefined || !isValid(entry, now)) return undefined;
    entry.usedAt = now;
    return entry.verified.caller;
  }

  /** Caches a verified token; `startedAt` is when verifying began, because the store may have changed since. */
  put(header: string, verified: Verified<C>, startedAt: number, generation: number): void {
    if (generation !== this.#generation || header.length > MAX_HEADER_LENGTH) return;
    this.#sweep(startedAt);
    const known = this.#entries.get(header);
    if (known === undefined) {
      this.#makeRoom();
      this.#entries.set(header, { verified, from: startedAt, usedAt: startedAt });
      return;
    }
    known.verified = verified;
    known.from = startedAt;
    known.usedAt = startedAt;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  /** Removes the tokens that were not used again, and those from before the clock was set back. */
  #sweep(now: number): void {
    const unusedMax = this.#entries.size >= MAX_ENTRIES ? FRESH_MS : UNUSED_MAX_MS;
    if (Math.abs(now - this.#sweptAt) < unusedMax) return;
    this.#sweptAt = now;
    for (const [header, { usedAt }] of this.#entries)
      if (Math.abs(now - usedAt) >= unusedMax) this.#entries.delete(header);
  }

  #makeRoom(): void {
    if (this.#entries.size < MAX_ENTRIES) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}

/** `from` and `readAt` too, because a clock that was set back must not make an entry last. */
function isValid({ verified, from }: Entry<unknown>, now: number): boolean {
  const { basis, endsAt } = verified;
  return now >= from && now < endsAt && now >= basis.readAt && now < basis.readAt + FRESH_MS;
}
