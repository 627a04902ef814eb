import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/** The scope of a token: the project, the kind of list, and what else distinguishes one list from another. */
export type ListName = readonly (string | number)[];

const MAC_BYTES = 16;
/** Longest token that can be genuine: a MAC and an ID of 320 code points, in base64url. */
const TOKEN_MAX_LENGTH = 2_048;

/**
 * Pagination tokens: opaque texts with the last ID of a page, signed for one list, so that a token works only
 * for the list and project that it came from and on every process that shares the store's key.
 */
export class PageTokens {
  readonly #key: KeyObject;

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key);
  }

  /** The token of the page after an ID; null where nothing follows. */
  next(list: ListName, lastId: string | null): string | null {
    return lastId === null ? null : this.issue(list, lastId);
  }

  issue(list: ListName, lastId: string): string {
    return Buffer.concat([this.#mac(list, lastId), Buffer.from(lastId)]).toString('base64url');
  }

  /** The ID after which the page starts; null when the token is not one of this list. */
  read(list: ListName, token: string): string | null {
    if (token.length > TOKEN_MAX_LENGTH) return null;
    const bytes = Buffer.from(token, 'base64url');
    // Decoding skips what is not base64url; only the very text that was issued counts.
    if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null;
    const lastId = bytes.toString('utf8', MAC_BYTES);
    return timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(list, lastId)) ? lastId : null;
  }

  #mac(list: ListName, lastId: string): Buffer {
    // No part has a NUL: IDs have no control characters, and JSON texts escape them.
    const text = ['page', ...list, lastId].join('\0');
    return createHmac('sha256', this.#key).update(text).digest().subarray(0, MAC_BYTES);
  }
}
