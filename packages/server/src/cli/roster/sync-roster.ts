import type { ChangeCounts } from '@rollcall/protocol';
import type { Clock } from '../../core/clock.ts';
import type { StopSignal } from '../../stop-signals.ts';
import { amount } from '../amount.ts';
import { InterruptedError, interruptible } from '../interruption.ts';
import type { ProgressDisplay } from '../progress-display.ts';
import { readLines } from '../records/line-reader.ts';
import { type RecordFile, RecordFileError } from '../records/record-file.ts';
import { LineError, type LineOrigin } from '../records/record-line.ts';
import { Batch, type BatchLimits, planBatches } from './batch-planner.ts';
import { RunStopped, runBatches } from './batch-runner.ts';
import type { ConversationEntry } from './conversation-line.ts';
import type { LineOutcome, SubmitConversation } from './conversation-request.ts';
import { type Entry, readEntry } from './roster-entry.ts';
import { type Changes, type LineReport, type Submit, submitLines } from './submit-lines.ts';

/** The outcome of a run, or in a dry run the expected one. */
export interface SyncSummary {
  readonly users: ChangeCounts;
  readonly groups: ChangeCounts;
  readonly threads: ChangeCounts;
  readonly messages: ChangeCounts;
  readonly rejected: number;
  readonly seconds: number;
  /** Why it ended before the end of the files, in one line; null where it did not. */
  readonly stopped: string | null;
  /** Null where no signal ended it. */
  readonly interruptedBy: StopSignal | null;
}

interface SyncRun {
  readonly files: readonly RecordFile[];
  readonly submit: Submit;
  readonly submitConversation: SubmitConversation;
  readonly limits: BatchLimits;
  readonly concurrency: number;
  /** Once it aborts, no further line is sent; those under way are awaited. */
  readonly interruption: AbortSignal;
  readonly display: ProgressDisplay;
  readonly clock: Pick<Clock, 'now'>;
}

/** Sends the lines of the files, with the outcome of sending them one by one in order; rejected lines are noted on the display. */
export async function syncRoster(run: SyncRun): Promise<SyncSummary> {
  const startedAt = run.clock.now();
  const tally = new SyncTally(run);
  const { interruption } = run;
  let stop: Stop = { stopped: null, interruptedBy: null };
  const batches = interruptible(planBatches(entriesOf(run.files, tally), run.limits), interruption);
  // Called for each part of a batch that was rejected, too.
  const submit: Submit = async (entries) => {
    interruption.throwIfAborted();
    return run.submit(entries);
  };
  try {
    await runBatches(batches, run.concurrency, (unit) =>
      tally.tracked(async () => {
        if (unit instanceof Batch) return submitLines(unit.entries, submit, tally);
        interruption.throwIfAborted();
        tally.ended(unit, await run.submitConversation(unit));
      }),
    );
  } catch (error) {
    // A request that failed after it says less.
    stop = reasonToStop(interruption.aborted ? interruption.reason : error);
  } finally {
    run.display.close();
  }
  return { ...tally.counts(), ...stop, seconds: Math.round((run.clock.now() - startedAt) / 100) / 10 };
}

async function* entriesOf(
  files: readonly RecordFile[],
  tally: SyncTally,
): AsyncGenerator<Entry | ConversationEntry> {
  for (const file of files) {
    let number = 0;
    try {
      for await (const line of readLines(file.read((bytes) => tally.read(bytes)))) {
        number = line.number;
        const entry = sendable(() => readEntry(line, file.name), { file: file.name, line: number }, tally);
        if (entry !== null) yield entry;
      }
    } catch (error) {
      if (!(error instanceof RecordFileError)) throw error;
      throw new RecordFileError(`${error.message} (after line ${number})`, { cause: error });
    }
  }
}

function sendable<Read>(read: () => Read | null, origin: LineOrigin, tally: SyncTally): Read | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    tally.rejected(origin, error.message);
    return null;
  }
}

type Stop = Pick<SyncSummary, 'stopped' | 'interruptedBy'>;

function reasonToStop(error: unknown): Stop {
  if (error instanceof InterruptedError) return { stopped: error.message, interruptedBy: error.signal };
  if (error instanceof RecordFileError)
    return { stopped: `${error.message}; the lines before were sent`, interruptedBy: null };
  if (!(error instanceof RunStopped)) throw error;
  const { file, line } = error.origin;
  const uncertain = `lines from ${file}:${line} on may or may not be applied`;
  return { stopped: `${error.message}; ${uncertain}`, interruptedBy: null };
}

class SyncTally implements LineReport {
  readonly #display: ProgressDisplay;
  /** Bytes of all files; null where that is not known. */
  readonly #size: number | null;
  readonly #counts = { users: noCounts(), groups: noCounts(), threads: noCounts(), messages: noCounts() };
  #rejected = 0;
  #bytesRead = 0;
  #bytesDone = 0;

  constructor({ files, display }: SyncRun) {
    this.#display = display;
    this.#size = files.reduce<number | null>(
      (sum, { size }) => (sum === null || size === null ? null : sum + size),
      0,
    );
  }

  read(bytes: number): void {
    this.#bytesRead += bytes;
  }

  /** Submits a batch; what was read when it started is done when it has ended. */
  async tracked(submit: () => Promise<void>): Promise<void> {
    const position = this.#bytesRead;
    await submit();
    this.#bytesDone = Math.max(this.#bytesDone, position);
    this.#display.update(this.#progress);
  }

  applied({ users, groups }: Changes): void {
    addTo(this.#counts.users, users);
    addTo(this.#counts.groups, groups);
    this.#display.update(this.#progress);
  }

  /** Counts a line about a thread or a message. */
  ended({ kind, origin }: ConversationEntry, outcome: LineOutcome): void {
    if (typeof outcome === 'object') this.rejected(origin, outcome.rejected);
    else this.#counts[`${kind}s`][outcome] += 1;
  }

  rejected({ file, line }: LineOrigin, reason: string): void {
    this.#rejected += 1;
    this.#display.note(`${file}:${line}: rejected: ${reason}`);
  }

  counts() {
    return { ...this.#counts, rejected: this.#rejected };
  }

  readonly #progress = () => {
    const amounts = Object.entries(this.#counts)
      .map(([name, counts]) => [name, counts.created + counts.updated + counts.unchanged] as const)
      .filter(([name, count]) => count > 0 || name === 'users' || name === 'groups')
      .map(([name, count]) => amount(count, name));
    const rejected = this.#rejected === 0 ? '' : `, ${amount(this.#rejected, 'lines')} rejected`;
    return {
      state: `${amounts.join(', ')}${rejected}`,
      fraction: this.#size === null || this.#size === 0 ? null : Math.min(1, this.#bytesDone / this.#size),
    };
  };
}

const noCounts = () => ({ created: 0, updated: 0, unchanged: 0 });

function addTo(sum: { created: number; updated: number; unchanged: number }, counts: ChangeCounts): void {
  sum.created += counts.created;
  sum.updated += counts.updated;
  sum.unchanged += counts.unchanged;
}
