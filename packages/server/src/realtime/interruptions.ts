import type { Logger } from 'pino';

/** After how many ticks what goes on is told again. */
const REMINDED_TICKS = 60;

/**
 * The groups that somebody reads and that are not followed right now. However many an engine that is away interrupts, and
 * however often they try, the log has one line when it begins, one each minute while it lasts, and one when it is over.
 */
export class Interruptions {
  readonly #log: Logger;
  readonly #groups = new Set<object>();
  /** Those and all others since it began. */
  readonly #concerned = new Set<object>();
  #reason: unknown;
  #ticks = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A group is not followed any more. */
  begin(group: object, reason: unknown): void {
    this.#groups.add(group);
    this.#concerned.add(group);
    this.#reason = reason;
  }

  /** It could not be read anew. Nothing happens where it was not followed before: whoever asked for it is told. */
  failed(group: object, reason: unknown): void {
    if (this.#groups.has(group)) this.#reason = reason;
  }

  /** It is followed again and its readers are told, or nobody reads it any more. */
  end(group: object): void {
    this.#groups.delete(group);
  }

  /** To be called about once a second: what comes together is told together. */
  tick(): void {
    if (this.#concerned.size === 0) return;
    const [err, groups] = [this.#reason, this.#concerned.size];
    if (this.#ticks % REMINDED_TICKS === 0)
      this.#log.warn({ err, groups }, 'watched groups are being read anew');
    this.#ticks += 1;
    if (this.#groups.size > 0) return;
    this.#log.info({ groups }, 'all watched groups are followed again');
    this.#concerned.clear();
    this.#reason = undefined;
    this.#ticks = 0;
  }
}
