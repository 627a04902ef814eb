import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
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

/** The store that `--from-…` or `--to-…` options name. @throws CommandError, SettingsError for bad usage, which repeat no URL */
export async function storeOfFlags(
  side: 'from' | 'to',
  dataDir: string | undefined,
  databaseUrl: string | undefined,
): Promise<NamedStore> {
  const [directory, url] = [`--${side}-data-dir`, `--${side}-database-url`];
  if ((dataDir === undefined) === (databaseUrl === undefined))
    throw usageError(
      `name one store with ${directory} or ${url}, not ${dataDir === undefined ? 'none' : 'two'}`,
    );
  const [option, kind, text] =
    databaseUrl === undefined
      ? [directory, SETTINGS.dataDir.kind, dataDir ?? '']
      : [url, SETTINGS.databaseUrl.kind, databaseUrl];
  if (kind.read(text) === undefined)
    throw usageError(`${option}: expected ${kind.expected}, not the value given`);
  return namedStore({ dataDir: dataDir ?? '', databaseUrl: databaseUrl ?? null }, url);
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
