import { usageError } from '../command-error.ts';
import { databaseVariable, isSameStore, storeOfFlags } from '../named-store.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { addImportOptions, type ImportFlags, importStore } from '../transfer/import-store.ts';
import { readStore } from '../with-store.ts';

interface MigrateFlags extends ImportFlags {
  readonly fromDataDir?: string;
  readonly fromDatabaseUrl?: string;
  readonly toDataDir?: string;
  readonly toDatabaseUrl?: string;
}

export function migrateStoreCommand(): RollcallCommand {
  return new RollcallCommand('migrate-store')
    .description('Copy a whole store into an empty one, of the same engine or the other: all or nothing.')
    .option('--from-data-dir <directory>', 'the embedded store to read')
    .option('--from-database-url <url>', `the PostgreSQL store to read (${databaseVariable('from')})`)
    .option('--to-data-dir <directory>', 'the embedded store to write; created when missing')
    .option(
      '--to-database-url <url>',
      `the PostgreSQL store to write; its tables are created when missing (${databaseVariable('to')})`,
    )
    .with(addImportOptions)
    .action(migrateStore)
    .examples(
      [
        'rollcall migrate-store --from-data-dir ./data --to-database-url "$URL"',
        'while no server writes to ./data: later writes are not copied',
      ],
      [
        'rollcall migrate-store --from-database-url "$URL" --to-data-dir ./data --dry-run',
        'the way back, tried',
      ],
    );
}

async function migrateStore(flags: MigrateFlags): Promise<void> {
  const from = await storeOfFlags('from', flags.fromDataDir, flags.fromDatabaseUrl);
  const to = await storeOfFlags('to', flags.toDataDir, flags.toDatabaseUrl);
  if (isSameStore(from, to)) throw usageError(`both options name ${from.name}`);
  await readStore(from, (store) =>
    importStore({ batches: () => store.transfer.export(), position: () => from.name }, to, flags),
  );
}
