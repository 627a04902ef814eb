import type { Settings } from '../../config/settings.ts';
import { PROCESS_CLOCK_TOLERANCE_MS } from '../../values/clock-tolerance.ts';
import { inspectDatabaseServer, inspectRedisServer, type ServerInspection } from '../../wiring.ts';
import { reasonOf } from '../reason-of.ts';
import { type Check, failed, ok } from './check.ts';

/** Checks that the PostgreSQL and the Redis of the settings answer, their versions, settings and clocks. */
export async function sharedServerChecks({ databaseUrl, redisUrl }: Settings): Promise<Check[]> {
  return [
    ...(databaseUrl === null
      ? []
      : await checksOf('PostgreSQL', databaseUrl, inspectDatabaseServer, 'ROLLCALL_DATABASE_URL')),
    ...(redisUrl === null ? [] : await checksOf('Redis', redisUrl, inspectRedisServer, 'ROLLCALL_REDIS_URL')),
  ];
}

async function checksOf(
  name: string,
  url: string,
  inspect: (url: string) => Promise<ServerInspection>,
  variable: string,
): Promise<Check[]> {
  try {
    const server = await inspect(url);
    return [serverCheck(name, server), clockCheck(name, server.aheadMs)];
  } catch (error) {
    return [failed(name, reasonOf(error), `Start it, or correct ${variable}.`)];
  }
}

function serverCheck(name: string, { address, version, encrypted, concern }: ServerInspection): Check {
  const found = `${version} at ${address}, ${encrypted ? 'encrypted' : 'not encrypted'}`;
  return concern === null ? ok(name, found) : failed(name, `${found}; ${concern.found}`, concern.advice);
}

/** The clocks of these servers are not used; comparing each Rollcall with them compares the Rollcalls with each other. */
function clockCheck(name: string, aheadMs: number): Check {
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const found = `${seconds} s from this machine's`;
  return Math.abs(aheadMs) <= PROCESS_CLOCK_TOLERANCE_MS
    ? ok(`${name} clock`, found)
    : failed(
        `${name} clock`,
        found,
        'Set both clocks (NTP): presence expires by the clocks of the Rollcalls, which have to agree.',
      );
}
