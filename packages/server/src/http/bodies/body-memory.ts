import { limits } from '@rollcall/protocol';
import { retryLater } from '../../core/service-error.ts';

/** The share of the memory that bodies above 256 KiB may have: uploads of large bodies leave the rest to small ones. */
const LARGE_SHARE = 0.75;
/** The share that bodies without a token may have: anyone can send one, and let it wait. */
const ANONYMOUS_SHARE = 0.25;

/**
 * The account of the bytes of request bodies in this process: of those that are being received and of those whose request
 * has no answer yet. Only bytes that have arrived count, not those that `Content-Length` announces.
 */
export class BodyMemory {
  readonly #maxBytes: number;
  readonly #maxLargeBytes: number;
  readonly #maxAnonymousBytes: number;
  #bytes = 0;
  #largeBytes = 0;
  #anonymousBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxLargeBytes = Math.floor(maxBytes * LARGE_SHARE);
    this.#maxAnonymousBytes = Math.floor(maxBytes * ANONYMOUS_SHARE);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Accounts for the growth of one body from `before` to `after` bytes; false, and unchanged, when the bound forbids it. */
  grow(before: number, after: number, isAnonymous: boolean): boolean {
    const bytes = this.#bytes + after - before;
    const largeBytes = this.#largeBytes + largePart(after) - largePart(before);
    const anonymousBytes = this.#anonymousBytes + (isAnonymous ? after - before : 0);
    if (bytes > this.#maxBytes || largeBytes > this.#maxLargeBytes) return false;
    if (anonymousBytes > this.#maxAnonymousBytes) return false;
    this.#bytes = bytes;
    this.#largeBytes = largeBytes;
    this.#anonymousBytes = anonymousBytes;
    return true;
  }

  release(bytes: number, isAnonymous: boolean): void {
    this.#bytes -= bytes;
    this.#largeBytes -= largePart(bytes);
    if (isAnonymous) this.#anonymousBytes -= bytes;
  }
}

/** A body counts as large, whole, from the byte that makes it so. */
const largePart = (bytes: number) => (isLargeBody(bytes) ? bytes : 0);

/** Whether a body is too large to be read on the event loop. */
export const isLargeBody = (bytes: number) => bytes > limits.SMALL_BODY_LIMIT_BYTES;

export const bodyUnavailable = (reason: string, cause?: Error) =>
  retryLater(`${reason}; nothing was applied, try again`, cause);

export const bodyMemoryFull = () => bodyUnavailable('the memory for request bodies is used up');
