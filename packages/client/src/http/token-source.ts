import { RollcallError } from '../rollcall-error.ts';
import { reasonOf, within } from './deadline.ts';

/**
 * A token, or a function that gets one: called for the first request, when the server rejected the last token, and before that one ends.
 * While it rejects, or returns no token, it is called again with backoff.
 */
export type Token = string | (() => string | Promise<string>);

/** A JWT: the text of an error, such as `Unauthorized`, is no token. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Caches a token until the server rejects it. */
export class TokenSource {
  /** Null where there is only one token. */
  readonly #source: (() => string | Promise<string>) | null = null;
  readonly #timeoutMs: number;
  #requesting: Promise<string> | undefined;
  /** The cached token, if there is one: for a page that unloads and cannot wait. */
  latest: string | undefined;

  /** @param timeoutMs how long the function may take */
  constructor(token: Token, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    if (typeof token === 'string') this.latest = token;
    else this.#source = token;
  }

  /** Concurrent calls share one call of the function. @throws RollcallError `network` or `timeout` */
  async get(): Promise<string> {
    if (this.latest !== undefined) return this.latest;
    this.#requesting ??= this.#request().finally(() => {
      this.#requesting = undefined;
    });
    return this.#requesting;
  }

  /** Gets the token that follows the cached one, which is used until then; null where there is only one. @throws as {@link get} */
  async renew(): Promise<string | null> {
    return this.#source && this.#request();
  }

  async #request(): Promise<string> {
    try {
      const token = await within(this.#timeoutMs, [], Promise.resolve().then(this.#source));
      if (typeof token !== 'string' || !TOKEN.test(token)) throw new Error('none was returned');
      this.latest = token;
      return token;
    } catch (error) {
      throw new RollcallError(
        error instanceof RollcallError ? error.code : 'network',
        `there is no token: ${reasonOf(error)}`,
        { cause: error },
      );
    }
  }

  /**
   * Drops a token that the server rejected, if it is still the cached one. Default: the cached one. Returns whether there may be
   * another.
   */
  reject(token: string | undefined = this.latest): boolean {
    if (this.#source && this.latest === token) this.latest = undefined;
    return this.#source !== null;
  }
}
