import process from 'node:process';
import { type Environment, readVariable, SettingsError } from '../../config/environment.ts';
import { type SettingKind, wholeNumber } from '../../config/setting-kinds.ts';
import { loadOnly } from '../../config/settings.ts';
import { systemClock } from '../../core/clock.ts';
import { readAs, readId } from '../arguments.ts';
import { usageError } from '../command-error.ts';
import type { RollcallCommand } from '../rollcall-command.ts';
import { addServerUrlOption, requireServer } from '../server-url.ts';
import { chosenProject, type StoreFlags, withStore } from '../with-store.ts';
import { ApiConnection, type RetryOptions } from './api-connection.ts';
import { fixedToken, mintedTokens, type TokenSource } from './token-source.ts';

export interface ConnectionFlags extends StoreFlags {
  readonly url?: string;
  readonly token?: string;
  readonly projectId?: string;
  readonly projectSecret?: string;
}

/** Adds where the server is and what opens it. */
export const addConnectionOptions = (command: RollcallCommand) =>
  command
    .with(addServerUrlOption)
    .option('--token <token>', 'a token of the project (ROLLCALL_TOKEN)', readAs(TOKEN))
    .option('--project, --project-id <id>', 'the project (ROLLCALL_PROJECT_ID)', readId)
    .option(
      '--secret, --project-secret <secret>',
      'its secret, to sign tokens with (ROLLCALL_PROJECT_SECRET)',
    )
    .settings(['dataDir'])
    .addHelpText('after', CREDENTIALS);

const CREDENTIALS = `
Without a token or a secret, the secret is read from the store, as "rollcall token" does.
A token ends after 24 hours at most; with a secret at hand, a new one is made as often as needed.`;

/** How many requests are under way at once. */
export const readConcurrency = readAs(wholeNumber(1, 64));

/** The characters that a header can have (RFC 7230, 3.2.6), and no space. */
const TOKEN: SettingKind<string> = {
  expected: 'a token: visible ASCII characters without a space',
  read: (value) => (/^[\x21-\x7e]+$/.test(value) ? value : undefined),
};

/** Opens the API for as long as `use` runs. */
export async function withConnection<Result>(
  flags: ConnectionFlags,
  retries: RetryOptions,
  use: (connection: ApiConnection) => Promise<Result>,
): Promise<Result> {
  const url = new URL(requireServer(flags.url, process.env));
  const tokens = await tokensFor(flags, process.env);
  const connection = new ApiConnection({ url, tokens, ...retries });
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** Flags win over the environment, and both over the store. */
async function tokensFor(flags: ConnectionFlags, environment: Environment): Promise<TokenSource> {
  if (flags.token !== undefined) return fixedToken(flags.token);
  const id = flags.projectId ?? loadOnly(['projectId'], environment).projectId ?? undefined;
  if (flags.projectSecret !== undefined) return signedTokens(id, flags.projectSecret);
  const named = flags.dataDir === undefined ? fromEnvironment(flags, id, environment) : null;
  if (named !== null) return named;
  const project = await withStore(flags, 'read', (store) => chosenProject(store, id));
  return mintedTokens(project, systemClock);
}

function fromEnvironment(
  { projectId }: ConnectionFlags,
  id: string | undefined,
  environment: Environment,
): TokenSource | null {
  if (projectId === undefined) {
    const token = readVariable(environment, 'ROLLCALL_TOKEN');
    if (token !== null) return fixedToken(tokenOf(token));
  }
  // The secret of the environment belongs to its project.
  if (id === undefined || id !== environment.ROLLCALL_PROJECT_ID) return null;
  const secret = readVariable(environment, 'ROLLCALL_PROJECT_SECRET');
  return secret === null ? null : signedTokens(id, secret.text);
}

/** @throws SettingsError that does not repeat the token */
function tokenOf({ name, text }: { readonly name: string; readonly text: string }): string {
  const token = TOKEN.read(text);
  if (token === undefined) throw new SettingsError(`${name}: expected ${TOKEN.expected}`);
  return token;
}

function signedTokens(id: string | undefined, secret: string): TokenSource {
  if (id === undefined) {
    throw usageError('a secret needs the project that it belongs to: --project-id or ROLLCALL_PROJECT_ID');
  }
  return mintedTokens({ id, secret }, systemClock);
}
