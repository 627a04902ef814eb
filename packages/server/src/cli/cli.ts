import manifest from '../../package.json' with { type: 'json' };
import { requireValues } from './arguments.ts';
import { backupCommand } from './commands/backup.ts';
import { changesCommand } from './commands/changes.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { customerCommand } from './commands/customer.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { groupCommand } from './commands/group.ts';
import { migrateStoreCommand } from './commands/migrate-store.ts';
import { newEpochCommand } from './commands/new-epoch.ts';
import { projectCommand } from './commands/project.ts';
import { restoreCommand } from './commands/restore.ts';
import { serveCommand } from './commands/serve.ts';
import { syncCommand } from './commands/sync.ts';
import { tokenCommand } from './commands/token.ts';
import { RollcallCommand } from './rollcall-command.ts';

export function buildCli(): RollcallCommand {
  return new RollcallCommand('rollcall')
    .description('Who belongs, how to reach them, and who is where right now.')
    .version(manifest.version)
    .hook('preAction', (_, command) => requireValues(command))
    .addCommand(serveCommand())
    .addCommand(tokenCommand())
    .addCommand(projectCommand())
    .addCommand(customerCommand())
    .addCommand(groupCommand())
    .addCommand(syncCommand())
    .addCommand(exportCommand())
    .addCommand(changesCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(migrateStoreCommand())
    .addCommand(newEpochCommand())
    .addCommand(configCommand())
    .addCommand(doctorCommand())
    .addCommand(completionCommand())
    .examples(
      ['rollcall serve', 'run the server, with everything at its default'],
      ['TOKEN=$(rollcall token)', 'a token for its API'],
    );
}
