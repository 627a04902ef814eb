import { limits } from '@rollcall/protocol';
import { Command } from 'commander';
import { systemClock } from '../../core/clock.ts';
import { newId, newSecret } from '../../core/credentials.ts';
import type { ProjectRecord, Store } from '../../store/store.ts';
import { readId, readName, readOverlap } from '../arguments.ts';
import { CommandError, usageError } from '../command-error.ts';
import { withExamples } from '../examples.ts';
import { printJson, printLine, printTable } from '../output.ts';
import { addSettingOptions } from '../setting-options.ts';
import { chosenProject, STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

interface ProjectFlags extends StoreFlags {
  readonly customer?: string;
  readonly id?: string;
  readonly overlapSeconds?: number;
  readonly yes?: true;
  readonly json?: true;
}

/** `rollcall project …`: the tenants of the service. A running server sees what changed within a second. */
export function projectCommand(): Command {
  return new Command('project')
    .description('List, create, rename and delete projects, and rotate their secrets.')
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(renameCommand())
    .addCommand(rotateSecretCommand())
    .addCommand(deleteCommand());
}

function listCommand(): Command {
  const command = new Command('list')
    .description('List the projects.')
    .option('--customer <id>', 'only those of this customer', readId)
    .option('--json', 'print a JSON array');
  addSettingOptions(command, STORE_SETTINGS).action(list);
  return withExamples(command, ['rollcall project list --json', 'for scripts']);
}

function createCommand(): Command {
  const command = new Command('create')
    .description('Create a project and print its secret, once.')
    .argument('<name>', 'what people call it', readName)
    .option('--customer <id>', 'who owns it (default: the only customer)', readId)
    .option('--id <id>', 'its ID (default: a new one)', readId)
    .option('--json', 'print {id, secret, name, created_at}');
  addSettingOptions(command, STORE_SETTINGS).action(create);
  return withExamples(
    command,
    ['rollcall project create "Acme staging"', 'prints the ID and the secret'],
    ['rollcall project create Staging --id staging --json', 'under an ID of your own'],
  );
}

function renameCommand(): Command {
  const command = new Command('rename')
    .description('Give a project another name; its ID stays.')
    .argument('<id>', 'the project', readId)
    .argument('<name>', 'its new name', readName);
  addSettingOptions(command, STORE_SETTINGS).action((id: string, name: string, flags: ProjectFlags) =>
    change(flags, id, (store, { key }) => store.renameProject(key, name), `renamed project ${id}`),
  );
  return withExamples(command, [
    'rollcall project rename staging "Acme staging 2"',
    'the new name is one word to the shell',
  ]);
}

function rotateSecretCommand(): Command {
  const command = new Command('rotate-secret')
    .description('Make a new secret for a project and print it, once. The old one goes on for a while.')
    .argument('<id>', 'the project', readId)
    .option(
      '--overlap-seconds <seconds>',
      'how long tokens of the old secret are still taken; 0 ends it at once',
      readOverlap,
      limits.ROTATION_DEFAULT_OVERLAP_SECONDS,
    )
    .option('--json', 'print {secret, previous_valid_until}');
  addSettingOptions(command, STORE_SETTINGS).action(rotateSecret);
  return withExamples(
    command,
    ['rollcall project rotate-secret staging', 'the old secret is taken for another day'],
    [
      'rollcall project rotate-secret staging --overlap-seconds 0',
      'the old secret is known to somebody else',
    ],
  );
}

function deleteCommand(): Command {
  const command = new Command('delete')
    .description(
      'Delete a project with all of its users, groups, memberships and presence. There is no way back.',
    )
    .argument('<id>', 'the project', readId)
    .option('--yes', 'really delete it');
  addSettingOptions(command, STORE_SETTINGS).action((id: string, flags: ProjectFlags) => {
    if (flags.yes !== true)
      throw usageError(`deleting project ${id} cannot be undone: say --yes if you mean it`);
    return change(flags, id, (store, { key }) => store.deleteProject(key), `deleted project ${id}`);
  });
  return withExamples(command, ['rollcall project delete staging --yes', 'all of its data goes']);
}

async function list(flags: ProjectFlags): Promise<void> {
  const projects = await withStore(flags, (store) => store.listProjects(flags.customer ?? null));
  const shown = projects.map((project) => ({ ...summary(project), customer_id: project.customerId }));
  if (flags.json === true) return printJson(shown);
  const rows = shown.map(({ id, name, customer_id, created_at }) => [id, name, customer_id, created_at]);
  printTable(['ID', 'NAME', 'CUSTOMER', 'CREATED'], rows);
}

async function create(name: string, flags: ProjectFlags): Promise<void> {
  const { id, secret, ...rest } = await withStore(flags, async (store) => {
    const customerId = flags.customer ?? (await onlyCustomer(store));
    const project = {
      id: flags.id ?? newId('prj'),
      customerId,
      name,
      secret: newSecret(),
      createdAt: systemClock.now(),
    };
    const outcome = await store.createProject(project);
    if (outcome.kind === 'exists') throw new CommandError(`the project ${project.id} already exists`);
    if (outcome.kind === 'absent') throw new CommandError(`there is no customer ${customerId}`);
    return { ...summary(outcome.project), secret: outcome.project.secret };
  });
  if (flags.json === true) return printJson({ id, secret, ...rest });
  printLine(`project ID      ${id}`);
  printLine(`project secret  ${secret}`);
}

async function rotateSecret(id: string, flags: ProjectFlags): Promise<void> {
  const secret = newSecret();
  const until = systemClock.now() + (flags.overlapSeconds ?? limits.ROTATION_DEFAULT_OVERLAP_SECONDS) * 1_000;
  const previousValidUntil = new Date(until).toISOString();
  const rotate = (store: Store, { key }: ProjectRecord) => store.rotateSecret(key, secret, until);
  if (flags.json !== true) {
    await change(flags, id, rotate, `project secret  ${secret}`);
    return printLine(`the old secret is taken until ${previousValidUntil}`);
  }
  await change(flags, id, rotate);
  printJson({ secret, previous_valid_until: previousValidUntil });
}

/** Changes one project; `done` is printed when it is. */
async function change(
  flags: ProjectFlags,
  id: string,
  apply: (store: Store, project: ProjectRecord) => Promise<boolean>,
  done?: string,
): Promise<void> {
  const applied = await withStore(flags, async (store) => apply(store, await chosenProject(store, id)));
  if (!applied) throw new CommandError(`there is no project ${id}`);
  if (done !== undefined) printLine(done);
}

async function onlyCustomer(store: Store): Promise<string> {
  const [only, ...others] = await store.listCustomers();
  if (only === undefined)
    throw new CommandError('there is no customer: make one with "rollcall customer create"');
  if (others.length > 0)
    throw usageError(`there are ${others.length + 1} customers: choose one with --customer`);
  return only.id;
}

const summary = ({ id, name, createdAt }: ProjectRecord) => ({
  id,
  name,
  created_at: new Date(createdAt).toISOString(),
});
