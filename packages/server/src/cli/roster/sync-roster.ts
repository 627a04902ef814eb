import type { ChangeCounts } from '@rollcall/protocol';
import type { Clock } from '../../core/clock.ts';
import { type BatchLimits, planBatches } from './batch-planner.ts';
import { RunStopped, runBatches } from './batch-runner.ts';
import { readLines } from './line-reader.ts';
import type { ProgressDisplay } from './progress-display.ts';
import { type Entry, LineError, type Origin, readEntry } from './roster-entry.ts';
import { type RosterFile, RosterFileError } from './roster-file.ts';
import { type Changes, type Ledger, type Submit, settle } from './settle.ts';

/** What a run did, or in a dry run would do. */
export interface SyncSummary {
  readonly users: ChangeCounts;
  readonly groups: ChangeCounts;
  readonly refused: number;
  readonly seconds: number;
  /** Why it ended before the end of the files, in one line; null where it did not. */
  readonly stopped: string | null;
}

export interface SyncRun {
  readonly files: readonly RosterFile[];
  readonly submit: Submit;
  readonly limits: BatchLimits;
  readonly concurrency: number;
  readonly display: ProgressDisplay;
  readonly clock: Pick<Clock, 'now'>;
}

/** Sends the lines of the files, with the outcome of sending them one by one in order; refused lines are noted on the display. */
export async function syncRoster(run: SyncRun): Promise<SyncSummary> {
  const startedAt = run.clock.now();
  const tally = new SyncTally(run);
  let stopped: string | null = null;
  try {
    await runBatches(planBatches(entriesOf(run.files, tally), run.limits), run.concurrency, ({ entries }) =>
      tally.confirming(() => settle(entries, run.submit, tally)),
    );
  } catch (error) {
    stopped = reasonToStop(error);
  } finally {
    run.display.close();
  }
  return { ...tally.counts(), stopped, seconds: Math.round((run.clock.now() - startedAt) / 100) / 10 };
}

async function* entriesOf(files: readonly RosterFile[], tally: SyncTally): AsyncGenerator<Entry> {
  for (const file of files) {
    let number = 0;
    try {
      for await (const line of readLines(file.read((bytes) => tally.read(bytes)))) {
        number = line.number;
        const entry = sendable(() => readEntry(line, file.name), { file: file.name, line: number }, tally);
        if (entry !== null) yield entry;
      }
    } catch (error) {
      if (!(error instanceof RosterFileError)) throw error;
      throw new RosterFileError(`${error.message} (after line ${number})`, { cause: error });
    }
  }
}

function sendable(read: () => Entry | null, origin: Origin, tally: SyncTally): Entry | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    tally.refusedLine(origin, error.message);
    return null;
  }
}

function reasonToStop(error: unknown): string {
  if (error instanceof RosterFileError) return `${error.message}; the lines before were sent`;
  if (!(error instanceof RunStopped)) throw error;
  const { file, line } = error.origin;
  return `${error.message}; nothing from ${file}:${line} on is confirmed`;
}

/** Keeps count of a run and shows it. */
class SyncTally implements Ledger {
  readonly #display: ProgressDisplay;
  /** Bytes of all files; null where one of them does not tell. */
  readonly #size: number | null;
  readonly #users = { created: 0, updated: 0, unchanged: 0 };
  readonly #groups = { created: 0, updated: 0, unchanged: 0 };
  #refused = 0;
  #bytesRead = 0;
  #bytesConfirmed = 0;

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

  /** Settles a batch; what had been read when it started is confirmed when it is settled. */
  async confirming(settling: () => Promise<void>): Promise<void> {
    const position = this.#bytesRead;
    await settling();
    this.#bytesConfirmed = Math.max(this.#bytesConfirmed, position);
    this.#show();
  }

  applied(_entries: readonly Entry[], { users, groups }: Changes): void {
    addTo(this.#users, users);
    addTo(this.#groups, groups);
    this.#show();
  }

  refused({ origin }: Entry, reason: string): void {
    this.refusedLine(origin, reason);
  }

  refusedLine({ file, line }: Origin, reason: string): void {
    this.#refused += 1;
    this.#display.note(`${file}:${line}: refused: ${reason}`);
  }

  counts() {
    return { users: this.#users, groups: this.#groups, refused: this.#refused };
  }

  #show(): void {
    const amount = (counts: ChangeCounts) =>
      (counts.created + counts.updated + counts.unchanged).toLocaleString('en-US');
    const refused = this.#refused === 0 ? '' : `, ${this.#refused.toLocaleString('en-US')} lines refused`;
    this.#display.update({
      state: `${amount(this.#users)} users, ${amount(this.#groups)} groups${refused}`,
      fraction:
        this.#size === null || this.#size === 0 ? null : Math.min(1, this.#bytesConfirmed / this.#size),
    });
  }
}

function addTo(sum: { created: number; updated: number; unchanged: number }, counts: ChangeCounts): void {
  sum.created += counts.created;
  sum.updated += counts.updated;
  sum.unchanged += counts.unchanged;
}
