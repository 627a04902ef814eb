import { Command } from 'commander';
import { systemClock } from '../../core/clock.ts';
import { newId, newSecret } from '../../core/credentials.ts';
import { readId, readName } from '../arguments.ts';
import { CommandError } from '../command-error.ts';
import { withExamples } from '../examples.ts';
import { printJson, printLine, printTable } from '../output.ts';
import { addSettingOptions } from '../setting-options.ts';
import { STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

interface CustomerFlags extends StoreFlags {
  readonly id?: string;
  readonly json?: true;
}

/** `rollcall customer …`: who owns projects. */
export function customerCommand(): Command {
  return new Command('customer')
    .description('List and create customers: who owns projects.')
    .addCommand(listCommand())
    .addCommand(createCommand());
}

function listCommand(): Command {
  const command = new Command('list')
    .description('List the customers.')
    .option('--json', 'print a JSON array');
  addSettingOptions(command, STORE_SETTINGS).action(async (flags: CustomerFlags) => {
    const customers = await withStore(flags, (store) => store.listCustomers());
    const shown = customers.map(({ id, name, createdAt }) => ({
      id,
      name,
      created_at: new Date(createdAt).toISOString(),
    }));
    if (flags.json === true) return printJson(shown);
    const rows = shown.map(({ id, name, created_at }) => [id, name, created_at]);
    printTable(['ID', 'NAME', 'CREATED'], rows);
  });
  return withExamples(command, ['rollcall customer list', 'every customer of the store in ./data']);
}

function createCommand(): Command {
  const command = new Command('create')
    .description('Create a customer and print its secret, once.')
    .argument('<name>', 'what people call it', readName)
    .option('--id <id>', 'its ID (default: a new one)', readId)
    .option('--json', 'print {id, secret, name, created_at}');
  addSettingOptions(command, STORE_SETTINGS).action((name: string, flags: CustomerFlags) =>
    create(name, flags),
  );
  return withExamples(command, ['rollcall customer create "Acme Inc."', 'prints the ID and the secret']);
}

async function create(name: string, flags: CustomerFlags): Promise<void> {
  const customer = { id: flags.id ?? newId('cus'), secret: newSecret(), name, createdAt: systemClock.now() };
  const created = await withStore(flags, (store) => store.createCustomer(customer));
  if (!created) throw new CommandError(`the customer ${customer.id} already exists`);
  const { id, secret, createdAt } = customer;
  if (flags.json === true)
    return printJson({ id, secret, name, created_at: new Date(createdAt).toISOString() });
  printLine(`customer ID      ${id}`);
  printLine(`customer secret  ${secret}`);
}
