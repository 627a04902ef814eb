import process from 'node:process';
import { Command, Option } from 'commander';
import { systemClock } from '../../core/clock.ts';
import { newRevision } from '../../core/revision.ts';
import type { Store } from '../../store/store.ts';
import { inspectStore, openStore, storeExists } from '../../wiring.ts';
import { type CarryTally, carryRecords } from '../carry/carry-records.ts';
import { CarryRehearsal } from '../carry/carry-rehearsal.ts';
import { jsonCarrySummary, textCarrySummary } from '../carry/carry-report.ts';
import { type CarrySide, carrySide, isSameStore } from '../carry/carry-side.ts';
import { CommandError, usageError } from '../command-error.ts';
import { withExamples } from '../examples.ts';
import { printJson, printLine } from '../output.ts';
import { progressDisplay } from '../roster/progress-display.ts';

interface MigrateFlags {
  readonly fromDataDir?: string;
  readonly fromDatabaseUrl?: string;
  readonly toDataDir?: string;
  readonly toDatabaseUrl?: string;
  readonly dryRun?: true;
  readonly quiet?: true;
  readonly json?: true;
}

/** `rollcall migrate-store`: carries into another store what `rollcall export` leaves out. */
export function migrateStoreCommand(): Command {
  const command = new Command('migrate-store')
    .description(
      'Carry into another store what "rollcall export" leaves out: customers, projects and their secrets, ' +
        'access tokens, preferences, messenger workspaces and durable presence.',
    )
    .option('--from-data-dir <directory>', 'the embedded store to read')
    .addOption(databaseOption('from', 'the PostgreSQL store to read'))
    .option('--to-data-dir <directory>', 'the embedded store to write; created when missing')
    .addOption(databaseOption('to', 'the PostgreSQL store to write; its tables are created when missing'))
    .option('--dry-run', 'say what would be carried, and write nothing')
    .option('--quiet', 'show no progress')
    .option('--json', 'print the counts as a JSON object')
    .action(migrateStore);
  return withExamples(
    command,
    [
      'rollcall migrate-store --from-data-dir ./data --to-database-url "$URL"',
      'before the users and groups are synced, and once more after it; safe to repeat',
    ],
    [
      'rollcall migrate-store --from-database-url "$URL" --to-data-dir ./data --dry-run',
      'the way back, tried',
    ],
  );
}

/** Also a variable, because a password in a flag is seen by every account of the machine. */
function databaseOption(side: 'from' | 'to', description: string): Option {
  return new Option(`--${side}-database-url <url>`, description).env(
    `ROLLCALL_${side.toUpperCase()}_DATABASE_URL`,
  );
}

async function migrateStore(flags: MigrateFlags): Promise<void> {
  const from = carrySide('from', { dataDir: flags.fromDataDir, databaseUrl: flags.fromDatabaseUrl });
  const to = carrySide('to', { dataDir: flags.toDataDir, databaseUrl: flags.toDatabaseUrl });
  if (isSameStore(from, to)) throw usageError(`both options name ${from.name}`);
  if (!(await storeExists(from))) throw new CommandError(`there is no store in ${from.dataDir}`);
  const start = performance.now();
  const dryRun = flags.dryRun === true;
  const carried = await (dryRun ? rehearse : carry)(from, to, flags.quiet === true);
  const seconds = Math.round(performance.now() - start) / 1_000;
  const summary = { ...carried, dryRun, seconds };
  if (flags.json === true) printJson(jsonCarrySummary(summary));
  else printLine(textCarrySummary(summary));
}

interface Carried {
  readonly tally: CarryTally;
  readonly keyChanged: boolean;
}

function carry(from: CarrySide, to: CarrySide, quiet: boolean): Promise<Carried> {
  return withOpen(from, (source) =>
    withOpen(to, async (target) => {
      const key = await target.serviceKey();
      const tally = await run(source, target, quiet);
      return { tally, keyChanged: Buffer.compare(key, await target.serviceKey()) !== 0 };
    }),
  );
}

function rehearse(from: CarrySide, to: CarrySide, quiet: boolean): Promise<Carried> {
  return withOpen(from, async (source) => {
    // Opening a store makes it: one that is not there must not be opened.
    const isThere = (await storeExists(to)) && (await inspectStore(to)).schemaVersion > 0;
    const tried = (target: Store | null) => run(source, new CarryRehearsal(target), quiet);
    return { tally: await (isThere ? withOpen(to, tried) : tried(null)), keyChanged: false };
  });
}

async function run(
  from: Store,
  to: Parameters<typeof carryRecords>[0]['to'],
  quiet: boolean,
): Promise<CarryTally> {
  const display = progressDisplay(process.stderr, systemClock, quiet);
  let carried = 0;
  try {
    return await carryRecords({
      from,
      to,
      stamp: () => ({ now: systemClock.now(), revision: newRevision() }),
      onProgress(records) {
        carried = records;
        display.update({ state: `${records.toLocaleString('en-US')} records`, fraction: null });
      },
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `stopped after ${carried} records: ${message}. It is safe to run the same command again`,
    );
  } finally {
    display.close();
  }
}

async function withOpen<Result>(side: CarrySide, use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openStore(side);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
