import { printLine } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

export function newEpochCommand(): RollcallCommand {
  return new RollcallCommand('new-epoch')
    .description('Let all readers begin anew, because the database was restored from a copy of its own.')
    .settings(STORE_SETTINGS)
    .action(newEpoch)
    .examples([
      'rollcall new-epoch --data-dir data',
      'after its rollcall.db was restored, before the server starts',
    ]);
}

async function newEpoch(flags: StoreFlags): Promise<void> {
  await withStore(flags, 'write', (store) => store.transfer.beginEpoch());
  printLine(
    'a new epoch began: readers begin anew, and webhooks are failing until their hosts set them active',
  );
}
