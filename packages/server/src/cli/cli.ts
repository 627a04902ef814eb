import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { configCommand } from './commands/config.ts';
import { customerCommand } from './commands/customer.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { groupCommand } from './commands/group.ts';
import { migrateStoreCommand } from './commands/migrate-store.ts';
import { projectCommand } from './commands/project.ts';
import { serveCommand } from './commands/serve.ts';
import { syncCommand } from './commands/sync.ts';
import { tokenCommand } from './commands/token.ts';
import { withExamples } from './examples.ts';

/** The whole command line, `rollcall …`. */
export function buildCli(): Command {
  const program = new Command('rollcall')
    .description('Who belongs, how to reach them, and who is where right now.')
    .version(manifest.version)
    .addCommand(serveCommand())
    .addCommand(tokenCommand())
    .addCommand(projectCommand())
    .addCommand(customerCommand())
    .addCommand(groupCommand())
    .addCommand(syncCommand())
    .addCommand(exportCommand())
    .addCommand(migrateStoreCommand())
    .addCommand(configCommand())
    .addCommand(doctorCommand());
  return withExamples(
    program,
    ['rollcall serve', 'run the server, with everything at its default'],
    ['TOKEN=$(rollcall token)', 'a token for its API'],
  );
}
