import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];
/** One for reads, and three for writes: two that can be leased, and one that is left for single statements. */
const LEAST_POOL = 4;

/** The settings of a database URL. */
export interface PostgresSettings {
  readonly host: string;
  readonly port: number;
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly applicationName: string;
  /** Most connections for reads and writes together; long reads have a few of their own beside them, and large writes one. */
  readonly poolSize: number;
  /** How long one statement may take before the server ends it, in milliseconds. Large writes are given longer. */
  readonly statementTimeoutMs: number;
  /** How connections are encrypted; null: they are not. */
  readonly tls: ConnectionOptions | null;
  /** Whether to connect without encryption where the server has none. */
  readonly tlsOptional: boolean;
  /** The server and the database, for messages: no user and no password. */
  readonly name: string;
}

const PARAMETERS = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'application_name',
  'host',
  'pool_size',
  'statement_timeout_ms',
];

/**
 * Reads `postgres://user:password@host:5432/database?…`, as libpq writes it. Parameters:
 * - `sslmode`: `disable`, `prefer` (take encryption where the server has it), `require`, `verify-ca` (its certificate is
 *   of a known authority), `verify-full` (and is for this host). Default: `prefer`, and `disable` on this machine.
 * - `sslrootcert`: file of the authorities' certificates (`system`: those that Node knows, the default);
 *   `sslcert`, `sslkey`: files of our own certificate and its key.
 * - `application_name` (`rollcall`), `host` (a directory is that of a Unix socket).
 * - `pool_size`: 4 to 1,000 connections (10). `statement_timeout_ms`: 100 to 4,000 (4000).
 * @throws StoreUnavailableError that names what is wrong
 */
export function parsePostgresUrl(text: string): PostgresSettings {
  const url = parsed(text);
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key));
  if (unknown !== undefined) {
    throw wrong(`unknown parameter ${unknown}; known are ${PARAMETERS.join(', ')}`);
  }
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined;
  const integer = (name: string, least: number, most: number, otherwise: number) => {
    const value = Number(parameter(name) ?? otherwise);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw wrong(`${name} is ${parameter(name)}, and must be a whole number from ${least} to ${most}`);
  };
  const host = parameter('host') ?? (decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || 'localhost');
  const port = url.port === '' ? 5_432 : Number(url.port);
  const database = decodeURIComponent(url.pathname.slice(1)) || undefined;
  return {
    host,
    port,
    database,
    user: decodeURIComponent(url.username) || undefined,
    password: decodeURIComponent(url.password) || undefined,
    applicationName: parameter('application_name') ?? 'rollcall',
    poolSize: integer('pool_size', LEAST_POOL, 1_000, 10),
    statementTimeoutMs: integer('statement_timeout_ms', 100, 4_000, 4_000),
    ...tlsOf(host, parameter),
    name: `PostgreSQL at ${host}:${port}${database === undefined ? '' : `/${database}`}`,
  };
}

function parsed(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw wrong('expected postgres://user:password@host:port/database');
  }
  return url;
}

const wrong = (message: string) => new StoreUnavailableError(`the database URL is wrong: ${message}`);

type Parameter = (name: string) => string | undefined;

function tlsOf(host: string, parameter: Parameter): Pick<PostgresSettings, 'tls' | 'tlsOptional'> {
  const mode = sslMode(host, parameter('sslmode'));
  if (mode === 'disable' || host.startsWith('/')) return { tls: null, tlsOptional: false };
  const file = (name: string) => {
    const path = parameter(name);
    return path === undefined ? undefined : contents(name, path);
  };
  const root = parameter('sslrootcert');
  const ca = root === 'system' ? undefined : file('sslrootcert');
  // As in libpq: a URL that names the authorities wants the certificate verified.
  const isVerified = mode.startsWith('verify') || (mode === 'require' && ca !== undefined);
  const identity = mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined };
  return {
    tls: { ca, cert: file('sslcert'), key: file('sslkey'), rejectUnauthorized: isVerified, ...identity },
    tlsOptional: mode === 'prefer',
  };
}

function sslMode(host: string, text: string | undefined): SslMode {
  if (text === undefined) return isThisMachine(host) ? 'disable' : 'prefer';
  const mode = SSL_MODES.find((known) => known === text);
  if (mode === undefined) throw wrong(`sslmode is ${text}, and must be one of ${SSL_MODES.join(', ')}`);
  return mode;
}

const isThisMachine = (host: string) =>
  host === 'localhost' || host === '::1' || host.startsWith('127.') || host.startsWith('/');

function contents(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw wrong(`${name} cannot be read: ${(error as Error).message}`);
  }
}
