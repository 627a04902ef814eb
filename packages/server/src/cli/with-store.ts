import process from 'node:process';
import { loadSettings } from '../config/settings.ts';
import { systemClock } from '../core/clock.ts';
import { BY_COMMAND_LINE } from '../core/origins.ts';
import { writeContext } from '../core/write-context.ts';
import { lockDataDirectory } from '../data-directory.ts';
import type { CustomerRecord, ProjectRecord } from '../store/ports/projects.ts';
import type { Store } from '../store/store.ts';
import { needsMigration, openStore, type StoreSettings, storeExists } from '../wiring.ts';
import { CommandError, usageError } from './command-error.ts';

/** The options of every command that opens the store itself, beside a running server or without one. */
export interface StoreFlags {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
}

/** The settings that select the store. */
export const STORE_SETTINGS = ['dataDir', 'databaseUrl'] as const;

/**
 * Opens the store of the flags or the environment for as long as `use` runs.
 * @throws CommandError when there is none: a command creates no empty store
 */
export async function withStore<Result>(
  flags: StoreFlags,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { dataDir, databaseUrl } = flags;
  const settings = loadSettings(process.env, { dataDir, databaseUrl });
  const advice = ": name the server's directory with --data-dir, or start a server first";
  return withExistingStore(settings, use, advice);
}

/** The same for a store of other settings. */
export async function withExistingStore<Result>(
  settings: StoreSettings,
  use: (store: Store) => Promise<Result>,
  advice = '',
): Promise<Result> {
  if (!(await storeExists(settings)))
    throw new CommandError(`there is no store in ${settings.dataDir}${advice}`);
  await using opened = new AsyncDisposableStack();
  // A server of an older version may use the store: it is migrated under the lock of the directory only.
  if (await needsMigration(settings)) opened.defer(lockDataDirectory(settings.dataDir));
  return await use(opened.adopt(await openStore(settings), (store) => store.close()));
}

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
