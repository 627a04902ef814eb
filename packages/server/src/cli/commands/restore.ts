import { namedStore } from '../named-store.ts';
import { openRecordFile } from '../records/record-file.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { addImportOptions, type ImportFlags, importStore } from '../transfer/import-store.ts';
import { StoreFileReader } from '../transfer/store-file.ts';
import { STORE_SETTINGS, type StoreFlags, storeSettings } from '../with-store.ts';

export function restoreCommand(): RollcallCommand {
  return new RollcallCommand('restore')
    .description('Read a backup into an empty store: all or nothing.')
    .argument('<file>', 'what "rollcall backup" wrote, plain or gzip; - is standard input')
    .with(addImportOptions)
    .settings(STORE_SETTINGS)
    .action(restore)
    .examples(
      ['rollcall restore backup.jsonl.gz --data-dir ./restored', 'a new directory'],
      [
        'rollcall restore backup.jsonl.gz --data-dir ./none --dry-run',
        'checks every record, and writes nothing',
      ],
    );
}

async function restore(path: string, flags: ImportFlags & StoreFlags): Promise<void> {
  const target = await namedStore(storeSettings(flags));
  const file = await openRecordFile(path);
  await importStore(new StoreFileReader(file), target, flags);
}
