import type { Settings } from '../../config/settings.ts';
import { inspectDatabaseServer, inspectRedisServer, type ServerInspection } from '../../wiring.ts';
import { type Check, failed, ok } from './check.ts';

/** Expiry is noticed within a second: clocks that differ by more are what one would see instead. */
const CLOCK_DIFFERENCE_MAX_MS = 1_000;

/** Asks the PostgreSQL and the Redis of the settings whether they answer, and what is to know about them. */
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
    return [serverCheck(name, placeOf(url), server), clockCheck(name, server.aheadMs)];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [failed(name, reason, `Start it, or correct ${variable}.`)];
  }
}

function serverCheck(name: string, place: string, { version, encrypted, concern }: ServerInspection): Check {
  const found = `${version} at ${place}, ${encrypted ? 'encrypted' : 'not encrypted'}`;
  return concern === null ? ok(name, found) : failed(name, `${found}; ${concern.found}`, concern.advice);
}

/** The servers keep no time for us; but every Rollcall can be compared with them, and so with each other. */
function clockCheck(name: string, aheadMs: number): Check {
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const found = `${seconds} s from this machine's`;
  return Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MAX_MS
    ? ok(`${name} clock`, found)
    : failed(
        `${name} clock`,
        found,
        'Set both clocks (NTP): presence ends by the clocks of the Rollcalls, which have to agree.',
      );
}

/** Servers and database, as the URL has them between the password and the parameters. */
const placeOf = (url: string) => url.replace(/^[a-z]+:\/\/(?:[^@/]*@)?/i, '').replace(/\?.*$/, '');
