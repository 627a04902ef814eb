import process from 'node:process';
import type { Command } from 'commander';
import { systemClock } from '../../core/clock.ts';
import { lockDataDirectory } from '../../data-directory.ts';
import { SchemaTooNewError } from '../../store/migration-files.ts';
import { StoreNotEmptyError, TransferError } from '../../store/ports/transfer.ts';
import type { TransferRecord } from '../../store/transfer-records.ts';
import { checkImport, openStore, type StoreSettings } from '../../wiring.ts';
import { CommandError } from '../command-error.ts';
import { InterruptedError, interruptible, withInterruption } from '../interruption.ts';
import type { NamedStore } from '../named-store.ts';
import { printJson, printLine } from '../output.ts';
import { progressDisplay } from '../progress-display.ts';
import { openToRead } from '../with-store.ts';
import { TransferTally } from './transfer-tally.ts';

/** The options of the commands that fill a store. */
export interface ImportFlags {
  readonly dryRun?: true;
  readonly quiet?: true;
  readonly json?: true;
}

export const addImportOptions = (command: Command): Command =>
  command
    .option('--dry-run', 'read and check everything, and write nothing')
    .option('--quiet', 'show no progress')
    .option('--json', 'print the counts as a JSON object');

interface ImportSource {
  /** `onRead` is called with how much was read, from 0 to 1, where that is known. */
  batches(onRead: (fraction: number) => void): AsyncIterable<readonly TransferRecord[]>;
  /** Names a record, or the source, for messages. */
  position(record?: TransferRecord): string;
}

/** Imports all records into an empty store, or in a dry run only reads and checks them, and prints how many there were. */
export async function importStore(
  source: ImportSource,
  target: NamedStore,
  { dryRun, quiet, json }: ImportFlags,
): Promise<void> {
  const tally = new TransferTally();
  const display = progressDisplay(process.stderr, systemClock, quiet === true);
  try {
    await withInterruption((interruption) => {
      const batches = tally.counted(interruptible(source.batches(tally.onRead), interruption), display);
      return dryRun === true ? rehearse(target, batches) : write(target, batches);
    });
  } catch (error) {
    throw failureOf(error, source, target.name);
  } finally {
    display.close();
  }
  if (json === true) return printJson({ dry_run: dryRun === true, ...tally.json() });
  if (dryRun === true) printLine('Dry run: nothing was changed.');
  printLine(tally.table());
}

function failureOf(error: unknown, source: ImportSource, target: string): unknown {
  const nothing = `; nothing was written to ${target}`;
  if (error instanceof InterruptedError)
    return new InterruptedError(error.signal, `nothing was written to ${target}`);
  if (error instanceof TransferError)
    return new CommandError(`${source.position(error.record)}: ${error.message}${nothing}`);
  if (error instanceof SchemaTooNewError) return new CommandError(`${target}: ${error.message}`);
  if (error instanceof StoreNotEmptyError)
    return new CommandError(`${target} is not empty: name an empty database, or a directory without a store`);
  return error;
}

/** The directory of an embedded store is locked, so that no server starts on it meanwhile. */
async function write(
  target: StoreSettings,
  batches: AsyncIterable<readonly TransferRecord[]>,
): Promise<void> {
  await using opened = new AsyncDisposableStack();
  if (target.databaseUrl === null) opened.defer(lockDataDirectory(target.dataDir));
  const store = opened.adopt(await openStore(target), (open) => open.close());
  await store.transfer.import(batches);
}

async function rehearse(
  target: NamedStore,
  batches: AsyncIterable<readonly TransferRecord[]>,
): Promise<void> {
  const store = await openToRead(target);
  const customers = (await store?.customers.list()) ?? [];
  await store?.close();
  if (customers.length > 0) throw new StoreNotEmptyError();
  await checkImport(batches);
}
