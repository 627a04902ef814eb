import process from 'node:process';
import { fileVariableOf, variableSource } from '../config/environment.ts';
import { SETTINGS } from '../config/setting-definitions.ts';
import { loadOnly } from '../config/settings.ts';
import { BY_COMMAND_LINE } from '../core/changes/origins.ts';
import { writeContext } from '../core/changes/write-context.ts';
import { systemClock } from '../core/clock.ts';
import { lockDataDirectory } from '../data-directory.ts';
import { SchemaTooNewError, SchemaTooOldError } from '../store/migration-files.ts';
import type { CustomerRecord, ProjectRecord } from '../store/ports/projects.ts';
import type { Store } from '../store/store.ts';
import { needsMigration, openStore, type StoreSettings, storeExists } from '../wiring.ts';
import { CommandError, usageError } from './command-error.ts';
import { type NamedStore, namedStore } from './named-store.ts';

/** The options of every command that opens the store itself, beside a running server or without one. */
export interface StoreFlags {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
}

export const STORE_SETTINGS = ['dataDir', 'databaseUrl'] as const;

/** The settings that select the store, of the flags or the environment. @throws SettingsError, CommandError */
export function storeSettings(flags: StoreFlags): StoreSettings {
  requireOneStore(flags);
  const { dataDir, databaseUrl } = flags;
  return loadOnly(STORE_SETTINGS, process.env, { dataDir, databaseUrl });
}

/**
 * A URL selects PostgreSQL, so a directory that the operator names would be ignored: the command would read or change a store
 * that is not meant. @throws CommandError
 */
export function requireOneStore({ dataDir, databaseUrl }: StoreFlags): void {
  const source = databaseUrl === undefined ? databaseUrlVariable() : SETTINGS.databaseUrl.flag;
  if (dataDir !== undefined && source !== null)
    throw usageError(`${SETTINGS.dataDir.flag} and ${source} name two stores: leave one of them out`);
}

/** The variable that names a database; null where none does. @throws SettingsError */
function databaseUrlVariable(): string | null {
  const { env } = SETTINGS.databaseUrl;
  const source = variableSource(process.env, env);
  if (source === null) return null;
  return source.from === 'file' ? fileVariableOf(env) : env;
}

/** What a command does with a store. One that only reads leaves the schema as it is. */
type Access = 'read' | 'write';

/**
 * Opens the store of the flags or the environment for as long as `use` runs.
 * @throws CommandError when there is none, or only one of an older schema that is to be read
 */
export async function withStore<Result>(
  flags: StoreFlags,
  access: Access,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const settings = storeSettings(flags);
  const advice = settings.databaseUrl === null ? IN_DIRECTORY : ': start a server on it first';
  return access === 'read'
    ? readStore(await namedStore(settings), use, advice)
    : writeStore(settings, use, advice);
}

const IN_DIRECTORY = ": name the server's directory with --data-dir, or start a server first";

async function writeStore<Result>(
  settings: StoreSettings,
  use: (store: Store) => Promise<Result>,
  advice: string,
): Promise<Result> {
  // A command creates no embedded store.
  if (!(await storeExists(settings))) throw noStore(settings.dataDir, advice);
  await using opened = new AsyncDisposableStack();
  // A server of an older version may use the store: it is migrated under the lock of the directory only.
  if (await needsMigration(settings)) opened.defer(lockDataDirectory(settings.dataDir));
  return await use(opened.adopt(await openStore(settings), (store) => store.close()));
}

/** Opens a store to read it, for as long as `use` runs. @throws CommandError when it has not the schema of this version */
export async function readStore<Result>(
  store: NamedStore,
  use: (store: Store) => Promise<Result>,
  advice = '',
): Promise<Result> {
  const opened = await openToRead(store);
  if (opened === null) throw noStore(store.databaseUrl === null ? store.dataDir : store.name, advice);
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** The store as it is; null where there is none. @throws CommandError when it has another schema */
export async function openToRead(store: NamedStore): Promise<Store | null> {
  try {
    return await openStore(store, { migrates: false });
  } catch (error) {
    if (error instanceof SchemaTooNewError) throw new CommandError(`${store.name}: ${error.message}`);
    if (!(error instanceof SchemaTooOldError)) throw error;
    if (error.version === 0) return null;
    const { version, latest } = error;
    const found = `${store.name} has schema version ${version}, older than the ${latest} of this version of Rollcall`;
    throw new CommandError(`${found}: start "rollcall serve" on it, which migrates it`);
  }
}

const noStore = (location: string, advice: string) =>
  new CommandError(`there is no store in ${location}${advice}`);

/** The context of what a command writes. A running server orders its changes and follows them within a second. */
export const commandLineContext = () => writeContext(systemClock, BY_COMMAND_LINE);

/** The project with the ID; without an ID the only project. @throws CommandError */
export async function chosenProject({ projects }: Store, id: string | undefined): Promise<ProjectRecord> {
  return chosen('project', id, id === undefined ? await projects.list(null) : [await projects.find(id)]);
}

/** The customer with the ID; without an ID the only customer. @throws CommandError */
export async function chosenCustomer({ customers }: Store, id: string | undefined): Promise<CustomerRecord> {
  return chosen('customer', id, id === undefined ? await customers.list() : [await customers.find(id)]);
}

/** Most IDs that a message names. */
const IDS_NAMED = 5;

function chosen<Item extends { readonly id: string }>(
  what: 'project' | 'customer',
  id: string | undefined,
  found: readonly (Item | null)[],
): Item {
  const [only, ...others] = found.filter((item) => item !== null);
  if (only === undefined) {
    const advice = `there is no ${what}: create one with "rollcall ${what} create"`;
    throw new CommandError(id === undefined ? advice : `there is no ${what} ${id}`);
  }
  if (others.length === 0) return only;
  const ids = [only, ...others].map((item) => item.id);
  const named = ids.length > IDS_NAMED ? `${ids.slice(0, IDS_NAMED).join(', ')}, …` : ids.join(', ');
  throw usageError(`there are ${ids.length} ${what}s (${named}): choose one with --${what}`);
}
