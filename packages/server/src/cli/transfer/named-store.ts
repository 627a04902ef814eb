import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { SETTINGS } from '../../config/setting-definitions.ts';
import type { StoreSettings } from '../../wiring.ts';
import { usageError } from '../command-error.ts';

/** A store with a name for messages: a directory, or a server and its database; never a password. */
export interface NamedStore extends StoreSettings {
  readonly name: string;
}

export const namedStore = ({ dataDir, databaseUrl }: StoreSettings): NamedStore => ({
  dataDir,
  databaseUrl,
  name: databaseUrl === null ? `the embedded store in ${dataDir}` : databaseName(databaseUrl),
});

/** The store that `--from-…` or `--to-…` options name. @throws CommandError for bad usage, which repeats no URL */
export function storeOfFlags(
  side: 'from' | 'to',
  dataDir: string | undefined,
  databaseUrl: string | undefined,
): NamedStore {
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
  return namedStore({ dataDir: dataDir ?? '', databaseUrl: databaseUrl ?? null });
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

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '']);

function databaseName(text: string): string {
  const url = new URL(text);
  const host = url.searchParams.get('host') ?? url.hostname;
  return `PostgreSQL at ${LOOPBACK.has(host) ? 'localhost' : host}:${url.port || 5_432}${url.pathname}`;
}
