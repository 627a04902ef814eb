import process from 'node:process';
import { loadSettings } from '../../config/settings.ts';
import { CommandError } from '../command-error.ts';
import { type Check, clockCheck, nodeCheck } from '../doctor/check.ts';
import { dataDirectoryCheck, freeSpaceCheck } from '../doctor/directory-checks.ts';
import { serverChecks } from '../doctor/server-checks.ts';
import { sharedServerChecks } from '../doctor/shared-server-checks.ts';
import { storeCheck } from '../doctor/store-check.ts';
import { printJson, printLine } from '../output.ts';
import { RollcallCommand } from '../rollcall-command.ts';
import { addServerUrlOption, findServer } from '../server-url.ts';
import { visibleText } from '../visible-text.ts';
import { requireOneStore, STORE_SETTINGS, type StoreFlags } from '../with-store.ts';

interface DoctorFlags extends StoreFlags {
  readonly redisUrl?: string;
  readonly url?: string;
  readonly json?: true;
}

export function doctorCommand(): RollcallCommand {
  return new RollcallCommand('doctor')
    .description('Check this machine, the store with its servers, and a running server.')
    .option('--json', 'print an array of {name, outcome, found, advice}')
    .with(addServerUrlOption)
    .settings([...STORE_SETTINGS, 'redisUrl'])
    .action(examine)
    .examples(
      ['rollcall doctor', 'exit code 1 when a check failed'],
      ['rollcall doctor --url http://127.0.0.1:9000', 'a server that is named must run'],
    );
}

async function examine(flags: DoctorFlags): Promise<void> {
  requireOneStore(flags);
  const { dataDir, databaseUrl, redisUrl } = flags;
  const settings = loadSettings(process.env, { dataDir, databaseUrl, redisUrl });
  const checks: Check[] = [
    nodeCheck(),
    clockCheck(),
    // PostgreSQL has a directory of its own.
    ...(settings.databaseUrl === null ? [dataDirectoryCheck(settings), freeSpaceCheck(settings)] : []),
    ...(await sharedServerChecks(settings)),
    await storeCheck(settings),
    ...(await serverChecks(findServer(flags.url, process.env))),
  ];
  if (flags.json === true) printJson(checks);
  else for (const check of checks) printCheck(check);
  const failed = checks.filter(({ outcome }) => outcome === 'failed').length;
  if (failed > 0) throw new CommandError(`${failed} of ${checks.length} checks failed`);
}

function printCheck({ name, outcome, found, advice }: Check): void {
  printLine(`${outcome.padEnd(7)}  ${name}: ${visibleText(found)}`);
  if (advice !== null) printLine(`         ${advice}`);
}
