import process from 'node:process';
import { systemClock } from '../../core/clock.ts';
import { interruptible, withInterruption } from '../interruption.ts';
import { progressDisplay } from '../progress-display.ts';
import { writeRecords } from '../records/record-output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { storeFileText } from '../transfer/store-file.ts';
import { TransferTally } from '../transfer/transfer-tally.ts';
import { STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

interface BackupFlags extends StoreFlags {
  readonly output?: string;
  readonly gzip?: true;
  readonly quiet?: true;
}

/** A backup has all secrets: only its owner reads it. */
const BACKUP_MODE = 0o600;

export function backupCommand(): RollcallCommand {
  return new RollcallCommand('backup')
    .description('Write the whole store, with its secrets, as JSON Lines of one moment, while servers run.')
    .option('--output <file>', 'write to a file that only this account can read (default: standard output)')
    .option('--gzip', 'compress')
    .option('--quiet', 'show no progress')
    .settings(STORE_SETTINGS)
    .action(backup)
    .examples(
      ['rollcall backup --gzip --output backup.jsonl.gz', 'everything, compressed'],
      ['rollcall restore backup.jsonl.gz --data-dir ./restored', 'reads it into an empty store'],
    );
}

async function backup(flags: BackupFlags): Promise<void> {
  const path = flags.output ?? null;
  const quiet = flags.quiet === true || (path === null && process.stdout.isTTY === true);
  const display = progressDisplay(process.stderr, systemClock, quiet);
  const tally = new TransferTally();
  await withInterruption((interruption) =>
    withStore(flags, 'read', (store) => {
      const batches = interruptible(store.transfer.export(), interruption);
      const text = storeFileText(tally.counted(batches, display));
      return writeRecords(text, { path, gzip: flags.gzip === true, mode: BACKUP_MODE });
    }),
  ).finally(display.close);
  if (!quiet) display.note(`wrote ${tally.words()}`);
}
