import process from 'node:process';
import { loadSettings } from '../config/settings.ts';
import type { ProjectRecord, Store } from '../store/store.ts';
import { openStore, storeExists } from '../wiring.ts';
import { CommandError, usageError } from './command-error.ts';

/** The options of every command that opens the store itself, beside a running server or without one. */
export interface StoreFlags {
  readonly dataDir?: string;
  readonly databaseUrl?: string;
}

/** The settings that say which store. */
export const STORE_SETTINGS = ['dataDir', 'databaseUrl'] as const;

/**
 * Opens the store for as long as `use` runs.
 * @throws CommandError when there is none: a command that reads makes no empty one
 */
export async function withStore<Result>(
  flags: StoreFlags,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  const settings = loadSettings(process.env, { dataDir: flags.dataDir, databaseUrl: flags.databaseUrl });
  if (!(await storeExists(settings))) {
    throw new CommandError(
      `there is no store in ${settings.dataDir}: name the server's directory with --data-dir, or start a server first`,
    );
  }
  const store = await openStore(settings);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** The project asked for; without an ID the only one. @throws CommandError */
export async function chosenProject(store: Store, id: string | undefined): Promise<ProjectRecord> {
  if (id !== undefined) {
    const project = await store.findProject(id);
    if (project === null) throw new CommandError(`there is no project ${id}`);
    return project;
  }
  const [only, ...others] = await store.listProjects(null);
  if (only === undefined)
    throw new CommandError('there is no project: make one with "rollcall project create"');
  if (others.length === 0) return only;
  const ids = [only, ...others].map((project) => project.id);
  const named = ids.length > IDS_NAMED ? `${ids.slice(0, IDS_NAMED).join(', ')}, …` : ids.join(', ');
  throw usageError(`there are ${ids.length} projects (${named}): choose one with --project`);
}

const IDS_NAMED = 5;
