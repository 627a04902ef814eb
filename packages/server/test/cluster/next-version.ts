/** The version after this one, for tests: the same program with one more migration. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { latestSchemaVersion } from '../../src/store/postgres/postgres-migrate.ts';
import { copyServer } from '../support/server-copy.ts';

export const NEXT_SCHEMA_VERSION = latestSchemaVersion() + 1;

/** Creates the version in an empty folder, and returns its launcher. @param sql the text of its migration */
export function makeNextVersion(directory: string, sql: string): string {
  const server = copyServer(directory);
  const file = `${String(NEXT_SCHEMA_VERSION).padStart(4, '0')}-next.sql`;
  writeFileSync(join(server, 'src/store/postgres/migrations', file), sql);
  return join(server, 'bin/rollcall.mjs');
}
