/** The version after this one, as far as tests need it: the same program, with one more migration. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { latestSchemaVersion } from '../../src/store/postgres/postgres-migrate.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const SERVER = join(ROOT, 'packages/server');

export const NEXT_SCHEMA_VERSION = latestSchemaVersion() + 1;

/** Makes it in an empty folder. Returns its launcher. @param sql what its migration does */
export function makeNextVersion(directory: string, sql: string): string {
  const server = join(directory, 'packages/server');
  for (const name of ['bin', 'src', 'package.json']) {
    cpSync(join(SERVER, name), join(server, name), { recursive: true });
  }
  const file = `${String(NEXT_SCHEMA_VERSION).padStart(4, '0')}-next.sql`;
  writeFileSync(join(server, 'src/store/postgres/migrations', file), sql);
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  linkEach(join(SERVER, 'node_modules'), join(server, 'node_modules'));
  return join(server, 'bin/rollcall.mjs');
}

/** Packages alone: what was compiled of one version is not of the other. */
function linkEach(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (!name.startsWith('.')) symlinkSync(join(from, name), join(to, name));
  }
}
