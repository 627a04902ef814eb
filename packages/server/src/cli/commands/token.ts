import { limits } from '@rollcall/protocol';
import { mintAppToken, mintClientToken, mintCustomerToken, mintProjectToken } from '../../auth/sign.ts';
import { systemClock } from '../../core/clock.ts';
import { readId, readSecret, readTokenLife } from '../arguments.ts';
import { usageError } from '../command-error.ts';
import { printJson, printLine } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { chosenCustomer, chosenProject, STORE_SETTINGS, type StoreFlags, withStore } from '../with-store.ts';

interface TokenFlags extends StoreFlags {
  readonly project?: string;
  readonly secret?: string;
  readonly app?: true;
  readonly user?: string;
  readonly group?: string;
  /** True when no ID is given with it. */
  readonly customer?: string | true;
  readonly ttlSeconds: number;
  readonly json?: true;
}

/** The project or customer whose secret signs the token. */
interface Signer {
  readonly id: string;
  readonly secret: string;
}

/** `rollcall token`: a token on standard output and nothing else, so that a shell can take it into a variable. */
export function tokenCommand(): RollcallCommand {
  return new RollcallCommand('token')
    .description('Print a token: a JWT that opens the API of one project, or of a customer.')
    .option('--project <id>', 'the project (default: the only one of the store)', readId)
    .option('--secret <secret>', 'the secret to sign with (default: read from the store)', readSecret)
    .option('--app', "an app token: names the project as app_id, for hosts of the service's older clients")
    .option('--user <id>', 'a client token: what a browser acts with as this user', readId)
    .option('--group <id>', 'the only group that the client token opens (default: all of the user)', readId)
    .option('--customer [id]', 'a customer token: creates, lists and deletes projects', readId)
    .option('--ttl-seconds <seconds>', 'how long it is good for', readTokenLife, limits.TOKEN_MAX_AGE_SECONDS)
    .option('--json', 'print {token, kind, id, expires} instead')
    .settings(STORE_SETTINGS)
    .action(printToken)
    .examples(
      ['TOKEN=$(rollcall token)', 'a project token of the only project of ./data, for 24 hours'],
      ['rollcall token --project acme --data-dir /var/lib/rollcall', 'of one of several projects'],
      ['rollcall token --project acme --secret "$SECRET" --ttl-seconds 600', 'needs no store'],
      ['rollcall token --user ada --group docs', 'for the browser of the user ada'],
      ['rollcall token --customer', 'of the only customer, for /v1/projects'],
    );
}

async function printToken(flags: TokenFlags): Promise<void> {
  const kind = kindOf(flags);
  const { id, secret } = await signerOf(flags);
  const now = systemClock.now();
  const token = await mintOf(kind, flags)(id, secret, now, flags.ttlSeconds);
  if (flags.json !== true) return printLine(token);
  printJson({ token, kind, id, expires: new Date(now + flags.ttlSeconds * 1_000).toISOString() });
}

type Kind = 'project' | 'app' | 'client' | 'customer';

function kindOf({ customer, app, user, group, project }: TokenFlags): Kind {
  if (user === undefined && group !== undefined) throw usageError('--group needs the --user who acts in it');
  if (customer !== undefined) {
    if (app !== undefined || project !== undefined || user !== undefined)
      throw usageError('--customer goes with none of --app, --project and --user');
    return 'customer';
  }
  if (user === undefined) return app === true ? 'app' : 'project';
  if (app === true) throw usageError('--user does not go with --app');
  return 'client';
}

function mintOf(kind: Kind, { user = '', group }: TokenFlags) {
  const mints = { project: mintProjectToken, app: mintAppToken, customer: mintCustomerToken };
  return kind === 'client' ? mintClientToken(user, group) : mints[kind];
}

function signerOf(flags: TokenFlags): Promise<Signer> {
  const { project, customer, secret } = flags;
  if (secret !== undefined) {
    const id = typeof customer === 'string' ? customer : project;
    if (id === undefined)
      throw usageError('--secret needs the ID that it belongs to: --project or --customer <id>');
    return Promise.resolve({ id, secret });
  }
  return withStore(flags, 'read', (store) =>
    customer === undefined
      ? chosenProject(store, project)
      : chosenCustomer(store, customer === true ? undefined : customer),
  );
}
