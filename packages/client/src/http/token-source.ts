import { RollcallError } from '../rollcall-error.ts';
import { Deadline, reasonOf } from './deadline.ts';

/** A token, or how to get one: called when there is none yet, and again when the server refused the last one. */
export type Token = string | (() => string | Promise<string>);

/** Keeps a token for as long as the server takes it. */
export class TokenSource {
  readonly #token: Token;
  readonly #timeoutMs: number;
  #current: Promise<string> | undefined;
  #latest: string | undefined;

  /** @param timeoutMs how long the function may take */
  constructor(token: Token, timeoutMs: number) {
    this.#token = token;
    this.#timeoutMs = timeoutMs;
    if (typeof token === 'string') this.#latest = token;
  }

  /** The token that is in use, if there is one: for a page that goes away and cannot wait. */
  get latest(): string | undefined {
    return this.#latest;
  }

  /** Everybody who asks at the same time gets the same one. @throws RollcallError `network` or `timeout` */
  get(): Promise<string> {
    this.#current ??= this.#ask();
    return this.#current;
  }

  async #ask(): Promise<string> {
    if (typeof this.#token === 'string') return this.#token;
    const limit = new Deadline(this.#timeoutMs, []);
    try {
      const token = await limit.race(Promise.resolve().then(this.#token));
      this.#latest = token;
      return token;
    } catch (error) {
      this.#current = undefined;
      const { code, message, cause } = limit.explain(error);
      throw new RollcallError(code, `there is no token: ${code === 'timeout' ? message : reasonOf(error)}`, {
        cause,
      });
    } finally {
      limit.end();
    }
  }

  /** Forgets a token that was refused, unless that has happened already. Returns whether there may be another one. */
  refused(token: string): boolean {
    if (typeof this.#token === 'string') return false;
    if (this.#latest === token) {
      this.#latest = undefined;
      this.#current = undefined;
    }
    return true;
  }
}
