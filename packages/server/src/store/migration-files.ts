import { readdirSync } from 'node:fs';

/** The store was written by a newer version of Rollcall, whose schema this one does not know. */
export class SchemaTooNewError extends Error {}

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
