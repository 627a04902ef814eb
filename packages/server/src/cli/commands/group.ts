import { Command } from 'commander';
import { systemClock } from '../../core/clock.ts';
import { newRevision } from '../../core/revision.ts';
import { readId, readWorkspace } from '../arguments.ts';
import { CommandError } from '../command-error.ts';
import { withExamples } from '../examples.ts';
import { printLine } from '../output.ts';
import { addSettingOptions } from '../setting-options.ts';
import { chosenProject, STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

interface GroupFlags extends StoreFlags {
  readonly project?: string;
  readonly workspace: string;
}

/** `rollcall group …`: what operators set of a group and hosts only read (`connectedToMessenger`). */
export function groupCommand(): Command {
  return new Command('group')
    .description('Connect groups to workspaces of an external messenger, and disconnect them.')
    .addCommand(connectCommand())
    .addCommand(disconnectCommand());
}

function connectCommand(): Command {
  const command = new Command('connect')
    .description('Connect a group: hosts then read connectedToMessenger true.')
    .argument('<id>', 'the group', readId)
    .requiredOption('--workspace <workspace>', "the messenger's workspace", readWorkspace)
    .option('--project <id>', 'its project (default: the only one)', readId);
  addSettingOptions(command, STORE_SETTINGS).action((id: string, flags: GroupFlags) =>
    connect(id, flags, flags.workspace, `connected group ${id} to workspace ${flags.workspace}`),
  );
  return withExamples(command, [
    'rollcall group connect analysts --workspace T024BE7LD',
    'of the only project',
  ]);
}

function disconnectCommand(): Command {
  const command = new Command('disconnect')
    .description('Disconnect a group: hosts then read connectedToMessenger false.')
    .argument('<id>', 'the group', readId)
    .option('--project <id>', 'its project (default: the only one)', readId);
  addSettingOptions(command, STORE_SETTINGS).action((id: string, flags: GroupFlags) =>
    connect(id, flags, null, `disconnected group ${id}`),
  );
  return withExamples(command, [
    'rollcall group disconnect analysts --project acme',
    'of one of several projects',
  ]);
}

async function connect(id: string, flags: GroupFlags, workspace: string | null, done: string): Promise<void> {
  const context = { now: systemClock.now(), revision: newRevision() };
  await withStore(flags, async (store) => {
    const project = await chosenProject(store, flags.project);
    if (await store.connectGroup(project.key, id, workspace, context)) return;
    throw new CommandError(`there is no group ${id} in project ${project.id}`);
  });
  printLine(done);
}
