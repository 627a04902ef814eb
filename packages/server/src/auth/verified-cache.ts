import type { Verified } from './resolver.ts';

/** How much memory cached tokens may take: those of some 43,000 pages, where a token has a usual length. */
const CACHED_MAX_BYTES = 40_000_000;
/** The longest header that is cached. */
const HEADER_MAX_LENGTH = 2_048;
/** What a token takes beside its texts, as measured. Its claims are in the header, and in the caller once more. */
const TOKEN_BYTES = 400;
/** After this what a token was verified with is read again, so that changes of other processes take effect within a second. */
const FRESH_MS = 1_000;
/** Tokens that were not used for so long are removed, in milliseconds; when there is no room, those of the last second stay. */
const UNUSED_MAX_MS = 60_000;

interface Entry<C> {
  verified: Verified<C>;
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
  #bytes = 0;
  #sweptAt = 0;
  #generation = 0;

  /**
   * Read it before verifying and pass it to {@link put}: a token that was verified before a {@link clear} may be stale and is not
   * stored.
   */
  get generation(): number {
    return this.#generation;
  }

  /** The caller, when what the header was verified with was read less than a second ago and its token has not ended since. */
  find(header: string, now: number): C | undefined {
    const entry = this.#entries.get(header);
    if (entry === undefined || !isValid(entry.verified, now)) return undefined;
    entry.usedAt = now;
    return entry.verified.caller;
  }

  /** Caches a verified token. */
  put(header: string, verified: Verified<C>, now: number, generation: number): void {
    if (generation !== this.#generation || header.length > HEADER_MAX_LENGTH) return;
    this.#sweep(now);
    const known = this.#entries.get(header);
    if (known === undefined) {
      this.#makeRoom();
      this.#entries.set(header, { verified, usedAt: now });
      this.#bytes += bytesOf(header);
      return;
    }
    known.verified = verified;
    known.usedAt = now;
  }

  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
    this.#bytes = 0;
  }

  /** Removes the tokens that were not used again, and those from before the clock was set back. */
  #sweep(now: number): void {
    const unusedMax = this.#isFull ? FRESH_MS : UNUSED_MAX_MS;
    if (Math.abs(now - this.#sweptAt) < unusedMax) return;
    this.#sweptAt = now;
    for (const [header, { usedAt }] of this.#entries)
      if (Math.abs(now - usedAt) >= unusedMax) this.#remove(header);
  }

  #makeRoom(): void {
    for (const oldest of this.#entries.keys()) {
      if (!this.#isFull) return;
      this.#remove(oldest);
    }
  }

  get #isFull(): boolean {
    return this.#bytes >= CACHED_MAX_BYTES;
  }

  #remove(header: string): void {
    this.#entries.delete(header);
    this.#bytes -= bytesOf(header);
  }
}

const bytesOf = (header: string) => TOKEN_BYTES + 2 * header.length;

/** Not before the read: a clock that was set back must not make it last. */
const isValid = ({ basis, endsAt }: Verified<unknown>, now: number) =>
  now < endsAt && now >= basis.readAt && now < basis.readAt + FRESH_MS;
