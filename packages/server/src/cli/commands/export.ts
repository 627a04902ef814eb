import process from 'node:process';
import { systemClock } from '../../core/clock.ts';
import { amount } from '../amount.ts';
import { interruptible, withInterruption } from '../interruption.ts';
import { type ProgressDisplay, progressDisplay } from '../progress-display.ts';
import { writeRecords } from '../records/record-output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import {
  addConnectionOptions,
  type ConnectionFlags,
  readConcurrency,
  withConnection,
} from '../roster/connection-options.ts';
import { type ExportCounts, exportRoster } from '../roster/roster-export.ts';

interface ExportFlags extends ConnectionFlags {
  readonly output?: string;
  readonly gzip?: true;
  readonly concurrency: number;
  readonly quiet?: true;
}

export function exportCommand(): RollcallCommand {
  return new RollcallCommand('export')
    .description(
      'Write the users, groups, threads and messages of a project as JSON Lines, for "rollcall sync" to read.',
    )
    .with(addConnectionOptions)
    .option('--output <file>', 'write to a file (default: standard output)')
    .option('--gzip', 'compress')
    .option('--concurrency <requests>', 'requests under way at once', readConcurrency, 4)
    .option('--quiet', 'show no progress')
    .action(exportAll)
    .examples(
      ['rollcall export --gzip --output roster.jsonl.gz', 'everything, compressed'],
      ['rollcall export | grep \'"type":"group"\'', 'the groups alone'],
    );
}

async function exportAll(flags: ExportFlags): Promise<void> {
  const path = flags.output ?? null;
  // Where the roster itself goes to the terminal, progress would be written into it.
  const quiet = flags.quiet === true || (path === null && process.stdout.isTTY === true);
  const display = progressDisplay(process.stderr, systemClock, quiet);
  const counts = { users: 0, groups: 0, threads: 0, messages: 0, deletedMessages: 0 };
  await withInterruption((interruption) =>
    withConnection(flags, { onRetry: display.note }, (connection) => {
      const text = interruptible(exportRoster(connection, flags.concurrency, counts), interruption);
      return writeRecords(shown(text, counts, display), { path, gzip: flags.gzip === true });
    }),
  ).finally(display.close);
  if (quiet) return;
  display.note(`exported ${amounts(counts)}`);
  if (counts.deletedMessages > 0)
    display.note(
      `left out ${amount(counts.deletedMessages, 'deleted messages')}: content that HTTP does not show`,
    );
}

/** The text, with progress shown as it passes. */
async function* shown(text: AsyncIterable<string>, counts: ExportCounts, display: ProgressDisplay) {
  for await (const piece of text) {
    display.update(() => ({ state: amounts(counts), fraction: null }));
    yield piece;
  }
}

const amounts = ({ deletedMessages: _, ...counts }: ExportCounts) =>
  Object.entries(counts)
    .map(([what, count]) => amount(count, what))
    .join(', ');
