import { readId, readWorkspace } from '../arguments.ts';
import { CommandError } from '../command-error.ts';
import { printLine } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import {
  chosenProject,
  commandLineContext,
  STORE_SETTINGS,
  type StoreFlags,
  withStore,
} from '../with-store.ts';

interface GroupFlags extends StoreFlags {
  readonly project?: string;
  readonly workspace: string;
}

/** `rollcall group …`: what operators set of a group and hosts only read (`connectedToMessenger`). */
export function groupCommand(): RollcallCommand {
  return new RollcallCommand('group')
    .description('Connect groups to workspaces of an external messenger, and disconnect them.')
    .addCommand(connectCommand())
    .addCommand(disconnectCommand());
}

function connectCommand(): RollcallCommand {
  return new RollcallCommand('connect')
    .description('Connect a group: hosts then read connectedToMessenger true.')
    .argument('<id>', 'the group', readId)
    .requiredOption('--workspace <workspace>', "the messenger's workspace", readWorkspace)
    .option('--project <id>', 'its project (default: the only one)', readId)
    .settings(STORE_SETTINGS)
    .action((id: string, flags: GroupFlags) =>
      connect(id, flags, flags.workspace, `connected group ${id} to workspace ${flags.workspace}`),
    )
    .examples(['rollcall group connect analysts --workspace T024BE7LD', 'of the only project']);
}

function disconnectCommand(): RollcallCommand {
  return new RollcallCommand('disconnect')
    .description('Disconnect a group: hosts then read connectedToMessenger false.')
    .argument('<id>', 'the group', readId)
    .option('--project <id>', 'its project (default: the only one)', readId)
    .settings(STORE_SETTINGS)
    .action((id: string, flags: GroupFlags) => connect(id, flags, null, `disconnected group ${id}`))
    .examples(['rollcall group disconnect analysts --project acme', 'of one of several projects']);
}

async function connect(id: string, flags: GroupFlags, workspace: string | null, done: string): Promise<void> {
  await withStore(flags, 'write', async (store) => {
    const project = await chosenProject(store, flags.project);
    const outcome = await store.groups.connect(project.key, id, workspace, commandLineContext());
    if (outcome.kind !== 'absent') return;
    throw new CommandError(`there is no group ${id} in project ${project.id}`);
  });
  printLine(done);
}
