import type { Logger } from 'pino';

/** After how many ticks an interruption that lasts is logged again. */
const REPEAT_TICKS = 60;

/**
 * Logs that groups with readers are not being followed. However many groups an engine that is away interrupts, and however
 * often they are tried, the log has one line when that begins, one each minute while it lasts, and one when it is over.
 */
export class InterruptionLog {
  readonly #log: Logger;
  readonly #groups = new Set<object>();
  /** These groups and all others since it began. Weak, because a group can be closed meanwhile. */
  #concerned = new WeakSet<object>();
  #count = 0;
  #reason: unknown;
  #ticks = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A group is no longer being followed. */
  begin(group: object, reason: unknown): void {
    this.#groups.add(group);
    if (!this.#concerned.has(group)) this.#count += 1;
    this.#concerned.add(group);
    this.#reason = reason;
  }

  /** A group could not be read. For a group that was not followed before, the request that needs it gets the error. */
  failed(group: object, reason: unknown): void {
    if (this.#groups.has(group)) this.#reason = reason;
  }

  /** The group is followed again and its readers have its events, or it has no readers any more. */
  end(group: object): void {
    this.#groups.delete(group);
  }

  /** Call it about once a second: the interruptions in between are one line. */
  tick(): void {
    if (this.#count === 0) return;
    const [err, groups] = [this.#reason, this.#count];
    if (this.#ticks % REPEAT_TICKS === 0)
      this.#log.warn({ err, groups }, 'presence streams are interrupted; their groups are being read again');
    this.#ticks += 1;
    if (this.#groups.size > 0) return;
    this.#log.info({ groups }, 'interrupted presence streams go on');
    this.#concerned = new WeakSet();
    this.#count = 0;
    this.#reason = undefined;
    this.#ticks = 0;
  }
}
