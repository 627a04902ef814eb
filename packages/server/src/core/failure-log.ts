import type { Logger } from 'pino';
import { StoreUnavailableError } from '../values/engine-errors.ts';
import type { Clock } from './clock.ts';

/** How often the failures of one kind are written at most, in milliseconds. */
const WRITE_INTERVAL_MS = 1_000;
/** How many kinds have a line of their own at a time. All further ones share one line. */
const MOST_KINDS = 100;
/** How many frames of a stack distinguish failures. The outer ones depend on whether a promise was awaited before. */
const KIND_FRAMES = 5;
const OTHER_KIND = 'other';
const OTHER_MESSAGE = 'failures of other kinds';
/** How many causes of an error are read. */
const MOST_CAUSES = 5;

type Level = 'warn' | 'error';
type Details = { readonly err?: unknown };

/** The failures of one kind since its last line. */
interface Kind {
  /** Whether the first line was written after the last end of an interval. */
  isRecent: boolean;
  count: number;
  /** Writes one line for all of them, with the details of the first. */
  write: ((count: number) => void) | null;
}

/**
 * A log in which failures that repeat do not fill the disk. The first failure of a kind is written at once; after it there
 * is at most one line a second, with the details of the first failure since the last line, and their `count`. An engine
 * that is away is logged without a stack, which has no information; an unexpected error with its stack.
 *
 * Memory: {@link MOST_KINDS} kinds at most, each with the details of one failure.
 */
export class FailureLog {
  /** The log that was given, with `warn` and `error` limited. */
  readonly log: Logger;
  readonly #kinds = new Map<string, Kind>();
  readonly #stop: () => void;
  #isClosed = false;

  constructor(log: Logger, clock: Clock) {
    const limited = (level: Level) => ({
      value: (details: Details | string, message = '') => {
        if (!log.isLevelEnabled(level)) return;
        if (typeof details === 'string') this.#report(log, level, {}, details);
        else this.#report(log, level, details, message);
      },
    });
    this.log = Object.create(log, { warn: limited('warn'), error: limited('error') });
    this.#stop = clock.every(WRITE_INTERVAL_MS, () => this.#writeDue());
  }

  /** Writes what was only counted so far. Later failures have a line each. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
    for (const kind of this.#kinds.values()) writeCounted(kind);
  }

  #report(log: Logger, level: Level, details: Details, message: string): void {
    const own = `${level} ${message} ${kindOf(details.err)}`;
    const isTracked = this.#kinds.has(own) || this.#kinds.size < MOST_KINDS;
    const [key, text] = isTracked ? [own, message] : [OTHER_KIND, OTHER_MESSAGE];
    const known = this.#kinds.get(key);
    // The first line may come just before the interval ends, so the next line waits for the interval after it.
    const kind = known ?? { isRecent: true, count: 0, write: null };
    this.#kinds.set(key, kind);
    kind.count += 1;
    kind.write ??= (count) => log[level]({ ...details, err: loggedError(details.err), count }, text);
    if (known === undefined || this.#isClosed) writeCounted(kind);
  }

  #writeDue(): void {
    for (const [key, kind] of this.#kinds) {
      if (kind.isRecent) kind.isRecent = false;
      else if (kind.count > 0) writeCounted(kind);
      else this.#kinds.delete(key);
    }
  }
}

function writeCounted(kind: Kind): void {
  kind.write?.(kind.count);
  kind.count = 0;
  kind.write = null;
}

/**
 * The part of a failure that stays the same when it repeats. For an engine that is away it is the engine's name at the start
 * of the message, for any other error the innermost frames of the stack, without the message.
 */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { name } = error.constructor;
  if (error instanceof StoreUnavailableError) return `${name} ${error.message.split(':', 1)[0]}`;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const frames = /(?:\n +at .*)+$/.exec(error.stack ?? '')?.[0] ?? '';
  return `${name} ${code} ${frames.split('\n', KIND_FRAMES + 1).join('\n')}`;
}

/** An engine that is away, in one line; any other error as it is, for the log to write with its stack. */
function loggedError(error: unknown): unknown {
  if (!(error instanceof StoreUnavailableError)) return error;
  const messages: string[] = [];
  for (
    let cause: unknown = error;
    cause instanceof Error && messages.length < MOST_CAUSES;
    cause = cause.cause
  ) {
    const { message } = cause;
    if (!messages.some((outer) => outer.includes(message))) messages.push(message);
  }
  const summary = { type: error.constructor.name, message: messages.join(': ') };
  // The log adds a stack to every object that has a message of its own.
  return { toJSON: () => summary };
}
