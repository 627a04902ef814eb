import type { Settings } from '../../config/settings.ts';
import { inspectStore, type StoreInspection, storeExists } from '../../wiring.ts';
import { reasonOf } from '../reason-of.ts';
import { type Check, failed, ok, skipped } from './check.ts';

const NAME = 'store';

export async function storeCheck(settings: Settings): Promise<Check> {
  try {
    if (!(await storeExists(settings))) return skipped(NAME, `there is none in ${settings.dataDir} yet`);
    return judge(await inspectStore(settings));
  } catch (error) {
    return failed(NAME, `it cannot be read: ${reasonOf(error)}`, unreadableAdvice(settings));
  }
}

const unreadableAdvice = ({ databaseUrl }: Settings) =>
  databaseUrl === null
    ? 'Check the owner of the files; restore a backup if they are damaged.'
    : 'See the check of PostgreSQL; its user needs access to the tables.';

function judge({ schemaVersion, latestSchemaVersion, damages }: StoreInspection): Check {
  if (damages.length > 0) {
    return failed(NAME, `it is damaged: ${damages.join('; ')}`, 'Stop the server and restore a backup.');
  }
  if (schemaVersion > latestSchemaVersion) {
    const found = `schema version ${schemaVersion}, and this version knows ${latestSchemaVersion}`;
    return failed(NAME, found, 'Run the newer Rollcall that wrote it.');
  }
  const pending = schemaVersion < latestSchemaVersion ? `, ${latestSchemaVersion} after the next start` : '';
  return ok(NAME, `undamaged, schema version ${schemaVersion}${pending}`);
}
