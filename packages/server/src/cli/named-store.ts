import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { readVariable } from '../config/environment.ts';
import { SETTINGS } from '../config/setting-definitions.ts';
import { databaseLocation, type StoreSettings } from '../wiring.ts';
import { usageError } from './command-error.ts';

/** A store with a name for messages: a directory, or a server and its database; never a password. */
export interface NamedStore extends StoreSettings {
  readonly name: string;
}

/** @throws SettingsError that names what is wrong with the URL, and `source`, which has it */
export async function namedStore(
  { dataDir, databaseUrl }: StoreSettings,
  source = SETTINGS.databaseUrl.env,
): Promise<NamedStore> {
  const name =
    databaseUrl === null ? `the embedded store in ${dataDir}` : await databaseName(source, databaseUrl);
  return { dataDir, databaseUrl, name };
}

type Side = 'from' | 'to';

/** The variable with the URL of a database: every account of the machine sees a password in a flag. */
export const databaseVariable = (side: Side) => `ROLLCALL_${side.toUpperCase()}_DATABASE_URL`;

/**
 * The store that `--from-…` or `--to-…` options name, or the variable.
 * @throws CommandError, SettingsError for bad usage, which repeat no URL
 */
export async function storeOfFlags(
  side: Side,
  dataDir: string | undefined,
  databaseUrl: string | undefined,
): Promise<NamedStore> {
  const [directory, option] = [`--${side}-data-dir`, `--${side}-database-url`];
  const url =
    databaseUrl === undefined
      ? readVariable(process.env, databaseVariable(side))
      : { name: option, text: databaseUrl };
  if ((dataDir === undefined) === (url === null))
    throw usageError(
      `name one store with ${directory} or ${option}, not ${dataDir === undefined ? 'none' : 'two'}`,
    );
  if (url === null) return namedStore({ dataDir: dataDir ?? '', databaseUrl: null });
  const { kind } = SETTINGS.databaseUrl;
  if (kind.read(url.text) === undefined)
    throw usageError(`${url.name}: expected ${kind.expected}, not the value given`);
  return namedStore({ dataDir: '', databaseUrl: url.text }, url.name);
}

/** Whether both names are of one store. A database can have several names, which this does not find out. */
export function isSameStore(one: NamedStore, other: NamedStore): boolean {
  if (one.databaseUrl !== null && other.databaseUrl !== null) return one.name === other.name;
  return one.databaseUrl === other.databaseUrl && realPath(one.dataDir) === realPath(other.dataDir);
}

function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return resolve(directory);
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);

async function databaseName(source: string, url: string): Promise<string> {
  const { hosts, database = '' } = await databaseLocation(source, url);
  const names = hosts.map(({ host, port }) => `${LOOPBACK.has(host) ? 'localhost' : host}:${port}`);
  return `PostgreSQL at ${names.join()}/${database}`;
}
