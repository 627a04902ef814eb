import { newId, newSecret } from '../../core/clients/credentials.ts';
import { systemClock } from '../../core/clock.ts';
import { createdFields, summaryFields } from '../../wire/presenters.ts';
import { readId, readName } from '../arguments.ts';
import { CommandError } from '../command-error.ts';
import { printJson, printLine, printTable } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

interface CustomerFlags extends StoreFlags {
  readonly id?: string;
  readonly json?: true;
}

export function customerCommand(): RollcallCommand {
  return new RollcallCommand('customer')
    .description('List and create customers: who owns projects.')
    .addCommand(listCommand())
    .addCommand(createCommand());
}

function listCommand(): RollcallCommand {
  return new RollcallCommand('list')
    .description('List the customers.')
    .option('--json', 'print a JSON array')
    .settings(STORE_SETTINGS)
    .action(async (flags: CustomerFlags) => {
      const customers = await withStore(flags, 'read', (store) => store.customers.list());
      const shown = customers.map(summaryFields);
      if (flags.json === true) return printJson(shown);
      const rows = shown.map(({ id, name, created_at }) => [id, name, created_at]);
      printTable(['ID', 'NAME', 'CREATED'], rows);
    })
    .examples(['rollcall customer list', 'every customer of the store in ./data']);
}

function createCommand(): RollcallCommand {
  return new RollcallCommand('create')
    .description('Create a customer and print its secret, once.')
    .argument('<name>', 'what people call it', readName)
    .option('--id <id>', 'its ID (default: a new one)', readId)
    .option('--json', 'print {id, secret, name, created_at}')
    .settings(STORE_SETTINGS)
    .action((name: string, flags: CustomerFlags) => create(name, flags))
    .examples(['rollcall customer create "Acme Inc."', 'prints the ID and the secret']);
}

async function create(name: string, flags: CustomerFlags): Promise<void> {
  const customer = { id: flags.id ?? newId('cus'), secret: newSecret(), name, createdAt: systemClock.now() };
  const created = await withStore(flags, 'write', (store) => store.customers.create(customer));
  if (!created) throw new CommandError(`the customer ${customer.id} already exists`);
  if (flags.json === true) return printJson(createdFields(customer));
  printLine(`customer ID      ${customer.id}`);
  printLine(`customer secret  ${customer.secret}`);
}
