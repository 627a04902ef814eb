import { readdirSync } from 'node:fs';

/** The store was written by a newer version of Rollcall, whose schema this one does not know. */
export class SchemaTooNewError extends Error {}

/** @throws SchemaTooNewError where the store has a later schema than the latest one of this version */
export function requireKnownSchema(version: number, latest: number): void {
  if (version <= latest) return;
  throw new SchemaTooNewError(
    `the store has schema version ${version} and this version of Rollcall knows ${latest}: run the newer Rollcall that wrote it`,
  );
}

/** The store has an older schema than this version, or none yet (version 0), and is not to be migrated. */
export class SchemaTooOldError extends Error {
  readonly version: number;
  readonly latest: number;

  constructor(version: number, latest: number) {
    super(`the store has schema version ${version}, older than the ${latest} of this version of Rollcall`);
    this.version = version;
    this.latest = latest;
  }
}

/** @throws SchemaTooNewError, SchemaTooOldError unless the store has the latest schema */
export function requireCurrentSchema(version: number, latest: number): void {
  requireKnownSchema(version, latest);
  if (version < latest) throw new SchemaTooOldError(version, latest);
}

export interface Migration {
  readonly number: number;
  readonly file: string;
}

/** The migrations in an engine's folder, in order: `0001-initial.sql`, … */
export function migrationsIn(directory: URL): Migration[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => ({ number: Number.parseInt(file, 10), file }));
}
