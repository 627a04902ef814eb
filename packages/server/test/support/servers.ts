/** The servers that the scale-out engine is tested on: real ones, found where the environment says or at their defaults. */
import { connect } from 'node:net';
import process from 'node:process';

const POSTGRES_DEFAULT = 'postgres://root@127.0.0.1:5432/test';
const REDIS_DEFAULT = 'redis://127.0.0.1:6379';
/** A server on this machine that does not take a connection within this is not there. */
const CONNECT_LIMIT_MS = 1_000;

/** A database on the PostgreSQL server of the tests, whose user may create databases. */
export const postgresUrl = (): string => process.env.ROLLCALL_TEST_DATABASE_URL ?? POSTGRES_DEFAULT;
export const redisUrl = (): string => process.env.ROLLCALL_TEST_REDIS_URL ?? REDIS_DEFAULT;

/** What does not answer, in words; empty when both are there. */
export async function absentServers(): Promise<string[]> {
  const found = await Promise.all([
    absent('PostgreSQL', postgresUrl(), 5_432, 'ROLLCALL_TEST_DATABASE_URL'),
    absent('Redis', redisUrl(), 6_379, 'ROLLCALL_TEST_REDIS_URL'),
  ]);
  return found.filter((reason) => reason !== null);
}

/** Why a server cannot be tested on, or null. The message has no password in it. */
async function absent(
  name: string,
  url: string,
  defaultPort: number,
  variable: string,
): Promise<string | null> {
  const { hostname, port } = new URL(url);
  const place = { host: hostname, port: port === '' ? defaultPort : Number(port) };
  if (await takesConnections(place)) return null;
  return `no ${name} at ${place.host}:${place.port}; ${variable} names another`;
}

function takesConnections(place: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...place, timeout: CONNECT_LIMIT_MS });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}
