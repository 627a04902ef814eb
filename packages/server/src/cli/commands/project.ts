import { limits } from '@rollcall/protocol';
import { newProject, nextSecret } from '../../core/clients/credentials.ts';
import { systemClock } from '../../core/clock.ts';
import type { ProjectRecord } from '../../store/ports/projects.ts';
import type { Store } from '../../store/store.ts';
import { createdFields, newSecretFields, summaryFields } from '../../wire/presenters.ts';
import { readId, readName, readOverlap } from '../arguments.ts';
import { CommandError, usageError } from '../command-error.ts';
import { printJson, printLine, printTable } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import {
  chosenCustomer,
  chosenProject,
  commandLineContext,
  STORE_SETTINGS,
  type StoreFlags,
  withStore,
} from '../with-store.ts';

interface ProjectFlags extends StoreFlags {
  readonly customer?: string;
  readonly id?: string;
  readonly overlapSeconds?: number;
  readonly yes?: true;
  readonly json?: true;
}

export function projectCommand(): RollcallCommand {
  return new RollcallCommand('project')
    .description('List, create, rename and delete projects, and rotate their secrets.')
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(renameCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(deleteCommand());
}

function listCommand(): RollcallCommand {
  return new RollcallCommand('list')
    .description('List the projects.')
    .option('--customer <id>', 'only those of this customer', readId)
    .option('--json', 'print a JSON array')
    .settings(STORE_SETTINGS)
    .action(list)
    .examples(['rollcall project list --json', 'for scripts']);
}

function createCommand(): RollcallCommand {
  return new RollcallCommand('create')
    .description('Create a project and print its secret, once.')
    .argument('<name>', 'what people call it', readName)
    .option('--customer <id>', 'who owns it (default: the only customer)', readId)
    .option('--id <id>', 'its ID (default: a new one)', readId)
    .option('--json', 'print {id, secret, name, created_at}')
    .settings(STORE_SETTINGS)
    .action(create)
    .examples(
      ['rollcall project create "Acme staging"', 'prints the ID and the secret'],
      ['rollcall project create Staging --id staging --json', 'under an ID of your own'],
    );
}

function renameCommand(): RollcallCommand {
  return new RollcallCommand('rename')
    .description('Give a project another name; its ID stays.')
    .argument('<id>', 'the project', readId)
    .argument('<name>', 'its new name', readName)
    .settings(STORE_SETTINGS)
    .action((id: string, name: string, flags: ProjectFlags) =>
      change(
        flags,
        id,
        (store, { key }) => store.projects.rename(key, name, commandLineContext()),
        `renamed project ${id}`,
      ),
    )
    .examples(['rollcall project rename staging "Acme staging 2"', 'the new name is one word to the shell']);
}

function rotateSecretCommand(): RollcallCommand {
  return new RollcallCommand('rotate-secret')
    .description('Make a new secret for a project and print it, once. The old one goes on for a while.')
    .argument('<id>', 'the project', readId)
    .option(
      '--overlap-seconds <seconds>',
      'how long tokens of the old secret are still taken; 0 ends it at once',
      readOverlap,
      limits.ROTATION_DEFAULT_OVERLAP_SECONDS,
    )
    .option('--json', 'print {secret, previous_valid_until}')
    .settings(STORE_SETTINGS)
    .action(rotateSecret)
    .examples(
      ['rollcall project rotate-secret staging', 'the old secret is taken for another day'],
      ['rollcall project rotate-secret staging --overlap-seconds 0', 'someone else knows the old secret'],
    );
}

function deleteCommand(): RollcallCommand {
  return new RollcallCommand('delete')
    .description('Delete a project with all of its data. There is no way back.')
    .argument('<id>', 'the project', readId)
    .option('--yes', 'really delete it')
    .settings(STORE_SETTINGS)
    .action((id: string, flags: ProjectFlags) => {
      if (flags.yes !== true)
        throw usageError(`deleting project ${id} cannot be undone: say --yes if you mean it`);
      return change(flags, id, (store, { key }) => store.projects.delete(key), `deleted project ${id}`);
    })
    .examples(['rollcall project delete staging --yes', 'all of its data goes']);
}

async function list(flags: ProjectFlags): Promise<void> {
  const projects = await withStore(flags, 'read', (store) => store.projects.list(flags.customer ?? null));
  const shown = projects.map((project) => ({ ...summaryFields(project), customer_id: project.customerId }));
  if (flags.json === true) return printJson(shown);
  const rows = shown.map(({ id, name, customer_id, created_at }) => [id, name, customer_id, created_at]);
  printTable(['ID', 'NAME', 'CUSTOMER', 'CREATED'], rows);
}

async function create(name: string, flags: ProjectFlags): Promise<void> {
  const shown = await withStore(flags, 'write', async (store) => {
    const customerId = (await chosenCustomer(store, flags.customer)).id;
    const project = newProject({ customerId, name }, systemClock.now(), flags);
    const outcome = await store.projects.create(project);
    if (outcome.kind === 'exists') throw new CommandError(`the project ${project.id} already exists`);
    if (outcome.kind === 'absent') throw new CommandError(`there is no customer ${customerId}`);
    return createdFields(outcome.project);
  });
  if (flags.json === true) return printJson(shown);
  printLine(`project ID      ${shown.id}`);
  printLine(`project secret  ${shown.secret}`);
}

async function rotateSecret(id: string, flags: ProjectFlags): Promise<void> {
  const next = nextSecret(systemClock.now(), flags.overlapSeconds);
  const shown = newSecretFields(next);
  const rotate = (store: Store, { key }: ProjectRecord) =>
    store.projects.rotateSecret(key, next, commandLineContext());
  if (flags.json !== true) {
    await change(flags, id, rotate, `project secret  ${shown.secret}`);
    return printLine(`the old secret is taken until ${shown.previous_valid_until}`);
  }
  await change(flags, id, rotate);
  printJson(shown);
}

/** Changes one project; `done` is printed when it is. */
async function change(
  flags: ProjectFlags,
  id: string,
  apply: (store: Store, project: ProjectRecord) => Promise<boolean | { readonly kind: string }>,
  done?: string,
): Promise<void> {
  const applied = await withStore(flags, 'write', async (store) =>
    apply(store, await chosenProject(store, id)),
  );
  if (applied === false || (applied !== true && applied.kind === 'absent'))
    throw new CommandError(`there is no project ${id}`);
  if (done !== undefined) printLine(done);
}
