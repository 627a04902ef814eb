import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { SETTINGS } from '../../config/setting-definitions.ts';
import type { StoreSettings } from '../../wiring.ts';
import { usageError } from '../command-error.ts';

/** One of the two stores: where records come from, or where they go. */
export interface CarrySide extends StoreSettings {
  /** For messages: a directory, or a server and its database; never a password. */
  readonly name: string;
}

interface SideFlags {
  readonly dataDir: string | undefined;
  readonly databaseUrl: string | undefined;
}

/** The store that a pair of options names. @throws CommandError for bad usage, which repeats no URL */
export function carrySide(side: 'from' | 'to', { dataDir, databaseUrl }: SideFlags): CarrySide {
  const [directory, url] = [`--${side}-data-dir`, `--${side}-database-url`];
  if ((dataDir === undefined) === (databaseUrl === undefined))
    throw usageError(
      `name one store with ${directory} or ${url}, not ${dataDir === undefined ? 'none' : 'two'}`,
    );
  if (databaseUrl === undefined) return embedded(directory, dataDir ?? '');
  const { kind } = SETTINGS.databaseUrl;
  if (kind.read(databaseUrl) === undefined)
    throw usageError(`${url}: expected ${kind.expected}, not the value given`);
  return { dataDir: '', databaseUrl, name: databaseName(databaseUrl) };
}

function embedded(option: string, text: string): CarrySide {
  const { kind } = SETTINGS.dataDir;
  const dataDir = kind.read(text);
  if (dataDir === undefined) throw usageError(`${option}: expected ${kind.expected}`);
  return { dataDir, databaseUrl: null, name: `the embedded store in ${dataDir}` };
}

/**
 * Whether both are one store, as far as names tell. A database may have another name still; a store that is carried into
 * itself stays as it is.
 */
export function isSameStore(one: CarrySide, other: CarrySide): boolean {
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
