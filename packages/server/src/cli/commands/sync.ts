import process from 'node:process';
import { systemClock } from '../../core/clock.ts';
import { CommandError } from '../command-error.ts';
import { InterruptedError, withInterruption } from '../interruption.ts';
import { printJson, printLine } from '../output.ts';
import { progressDisplay } from '../progress-display.ts';
import { openRecordFile } from '../records/record-file.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import type { ApiConnection } from '../roster/api-connection.ts';
import { type BatchLimits, batchLimits } from '../roster/batch-planner.ts';
import { applyLines } from '../roster/batch-request.ts';
import { LineCheck } from '../roster/check-lines.ts';
import { CheckedRoster } from '../roster/checked-roster.ts';
import {
  addConnectionOptions,
  type ConnectionFlags,
  readConcurrency,
  withConnection,
} from '../roster/connection-options.ts';
import { ConversationCheck } from '../roster/conversation-check.ts';
import { applyConversation } from '../roster/conversation-request.ts';
import { jsonSummary, textSummary } from '../roster/sync-report.ts';
import { type SyncSummary, syncRoster } from '../roster/sync-roster.ts';

interface SyncFlags extends ConnectionFlags {
  readonly dryRun?: true;
  readonly concurrency: number;
  readonly quiet?: true;
  readonly json?: true;
}

export function syncCommand(): RollcallCommand {
  return new RollcallCommand('sync')
    .description(
      'Create and update users, groups, threads and messages from files, through the API of a running server.',
    )
    .argument(
      '<file...>',
      'JSON Lines, plain or gzip: one user, group, thread or message a line; - is standard input',
    )
    .with(addConnectionOptions)
    .option('--dry-run', 'report what would be done, and do nothing')
    .option('--concurrency <requests>', 'requests under way at once', readConcurrency, 4)
    .option('--quiet', 'show no progress')
    .option('--json', 'print the counts as a JSON object')
    .action(sync)
    .examples(
      ['rollcall sync roster.jsonl.gz', 'into the server on this machine; safe to repeat'],
      ['rollcall sync users.jsonl groups.jsonl --dry-run', 'the files are read in this order'],
      ['zcat roster.jsonl.gz | rollcall sync - --url https://rollcall.example --token "$TOKEN"', 'elsewhere'],
    );
}

async function sync(paths: readonly string[], flags: SyncFlags): Promise<void> {
  const files = await Promise.all(paths.map(openRecordFile));
  const dryRun = flags.dryRun === true;
  const display = progressDisplay(process.stderr, systemClock, flags.quiet === true);
  const limits = batchLimits();
  const summary = await withInterruption((interruption) =>
    withConnection(flags, { onRetry: display.note, interruption }, (connection) => {
      const { concurrency } = flags;
      const submit = dryRun ? dryRunOf(connection, limits) : writesOf(connection, limits);
      const shared = { limits, concurrency, interruption, display, clock: systemClock };
      return syncRoster({ files, ...submit, ...shared });
    }),
  );
  if (flags.json === true) printJson(jsonSummary(summary, dryRun));
  else printLine(textSummary(summary, dryRun));
  throwIfIncomplete(summary, dryRun);
}

const writesOf = (connection: ApiConnection, limits: BatchLimits) => ({
  submit: applyLines(connection, limits),
  submitConversation: applyConversation(connection),
});

function dryRunOf(connection: ApiConnection, limits: BatchLimits) {
  const checked = new CheckedRoster();
  const { submit } = new LineCheck(connection, limits, checked);
  return { submit, submitConversation: new ConversationCheck(connection, checked, systemClock).submit };
}

function throwIfIncomplete({ stopped, interruptedBy, rejected }: SyncSummary, dryRun: boolean): void {
  const advice = 'It is safe to run the same command again: what is applied stays unchanged';
  if (interruptedBy !== null)
    throw new InterruptedError(
      interruptedBy,
      dryRun ? 'nothing was changed' : `what is counted is applied. ${advice}`,
    );
  if (stopped !== null) throw new CommandError(`stopped: ${stopped}${dryRun ? '' : `. ${advice}`}`);
  if (rejected > 0)
    throw new CommandError(`${rejected} ${rejected === 1 ? 'line was' : 'lines were'} rejected`);
}
