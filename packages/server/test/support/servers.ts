/** The servers of the scale-out engine in tests: those that the environment names, or the local defaults. */
import { connect } from 'node:net';
import process from 'node:process';

const POSTGRES_DEFAULT = 'postgres://root@127.0.0.1:5432/test';
const REDIS_DEFAULT = 'redis://127.0.0.1:6379';
/** How long to wait for a connection, in milliseconds. */
const CONNECT_LIMIT_MS = 10_000;

/** A database on the PostgreSQL server of the tests, whose user may create databases. */
export const postgresUrl = (): string => process.env.ROLLCALL_TEST_DATABASE_URL ?? POSTGRES_DEFAULT;
export const redisUrl = (): string => process.env.ROLLCALL_TEST_REDIS_URL ?? REDIS_DEFAULT;

/** Why servers cannot be used, one reason for each; empty when both accept connections. */
export async function absentServers(): Promise<string[]> {
  const found = await Promise.all([
    absent('PostgreSQL', postgresUrl(), 5_432, 'ROLLCALL_TEST_DATABASE_URL'),
    absent('Redis', redisUrl(), 6_379, 'ROLLCALL_TEST_REDIS_URL'),
  ]);
  return found.filter((reason) => reason !== null);
}

/** Why a server cannot be used, or null. The message contains no password. */
async function absent(
  name: string,
  url: string,
  defaultPort: number,
  variable: string,
): Promise<string | null> {
  const { hostname, port } = new URL(url);
  const address = { host: hostname, port: port === '' ? defaultPort : Number(port) };
  if (await acceptsConnections(address)) return null;
  return `no ${name} at ${address.host}:${address.port}; ${variable} names another`;
}

function acceptsConnections(address: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...address, timeout: CONNECT_LIMIT_MS });
    const finish = (isAccepted: boolean) => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.once('connect', () => finish(true));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}
