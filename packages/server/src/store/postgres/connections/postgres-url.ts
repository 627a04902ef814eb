import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import { PERCENT_ENCODING, readAddresses, type ServerAddress } from '../../../values/server-address.ts';

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];
/** One for reads, and three for writes: two that can be leased, and one that is left for single statements. */
const LEAST_POOL = 4;

/** Most servers that a URL names: opening a connection tries all of them within 3 s. */
const MOST_HOSTS = 8;

/** The host can be the directory of a Unix socket. */
export type PostgresHost = ServerAddress;

export interface PostgresSettings {
  /** Servers with the same data, of which one is the primary. */
  readonly hosts: readonly PostgresHost[];
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly applicationName: string;
  /** Most connections for reads and writes together; long reads have a few of their own beside them, and large writes one. */
  readonly poolSize: number;
  /** How long one statement may take before the server ends it, in milliseconds. Large writes are given longer. */
  readonly statementTimeoutMs: number;
  /** The server ends a transaction whose process sends nothing for so long, in milliseconds: others wait for its locks. */
  readonly idleInTransactionMs: number;
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
  'target_session_attrs',
  'pool_size',
  'statement_timeout_ms',
];

/** A connection is made to a server that can write, whether a URL demands it or not. */
const TARGETS = ['read-write', 'primary'];
/** What is before the hosts, the hosts, and what is after them. */
const URL_SHAPE = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s;
const DEFAULT_PORT = 5_432;
/** No process takes as long to work out what to write next, except for large writes. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/**
 * Reads `postgres://user:password@host:5432/database?…`, as libpq writes it, with several hosts separated by commas.
 * Parameters:
 * - `sslmode`: `disable`, `prefer` (take encryption where the server has it), `require`, `verify-ca` (its certificate is
 *   of a known authority), `verify-full` (and is for this host). Default: `prefer`, and `disable` on this machine.
 * - `sslrootcert`: file of the authorities' certificates (`system`: those that Node knows, the default);
 *   `sslcert`, `sslkey`: files of our own certificate and its key.
 * - `application_name` (`rollcall`), `host` (others than the URL's; a directory is that of a Unix socket).
 * - `target_session_attrs`: `read-write` or `primary`, which mean what is done without it.
 * - `pool_size`: 4 to 1,000 connections (10). `statement_timeout_ms`: 100 to 4,000 (4000).
 * @throws StoreUnavailableError that names what is wrong
 */
export function parsePostgresUrl(text: string): PostgresSettings {
  const { url, hostText } = parsed(text);
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
  const hosts = hostsOf(hostText, parameter('host'));
  const target = parameter('target_session_attrs');
  if (target !== undefined && !TARGETS.includes(target)) {
    throw wrong(`target_session_attrs is ${target}, and must be ${TARGETS.join(' or ')}`);
  }
  const database = decoded(url.pathname.slice(1)) || undefined;
  return {
    hosts,
    database,
    user: decoded(url.username) || undefined,
    password: decoded(url.password) || undefined,
    applicationName: parameter('application_name') ?? 'rollcall',
    poolSize: integer('pool_size', LEAST_POOL, 1_000, 10),
    statementTimeoutMs: integer('statement_timeout_ms', 100, 4_000, 4_000),
    idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
    ...tlsOf(hosts, parameter),
    name: `PostgreSQL at ${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}${database === undefined ? '' : `/${database}`}`,
  };
}

/** The URL without its hosts, and the text of these: a URL of the web has one. */
function parsed(text: string): { url: URL; hostText: string } {
  const [, before, hostText, after] = URL_SHAPE.exec(text) ?? [];
  const url = URL.parse(`${before}host${after}`);
  if (hostText === undefined || url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw wrong('expected postgres://user:password@host:port/database');
  }
  // What is before it may be the end of a password, which no message repeats.
  if (after?.includes('@')) throw wrong(`it has an @ after the hosts; ${PERCENT_ENCODING}`);
  return { url, hostText };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(`it has a % without two digits; ${PERCENT_ENCODING}`);
  }
}

/** The hosts of the URL or of its parameter, where one port is for all of them. */
function hostsOf(text: string, parameter: string | undefined): PostgresHost[] {
  const addresses = readAddresses(text, DEFAULT_PORT);
  if (addresses === null) throw wrong('expected host:port, several of them separated by commas');
  const ofUrl = addresses.map(({ host, port }) => ({ host: decoded(host) || 'localhost', port }));
  const names = parameter?.split(',');
  if (names !== undefined && ofUrl.length > 1) throw wrong('the hosts are named twice');
  const hosts = names?.map((host) => ({ host, port: ofUrl[0]?.port ?? DEFAULT_PORT })) ?? ofUrl;
  if (hosts.length > MOST_HOSTS) throw wrong(`it names more than ${MOST_HOSTS} hosts`);
  return hosts;
}

const wrong = (message: string) => new StoreUnavailableError(`the database URL is wrong: ${message}`);

type Parameter = (name: string) => string | undefined;

function tlsOf(
  hosts: readonly PostgresHost[],
  parameter: Parameter,
): Pick<PostgresSettings, 'tls' | 'tlsOptional'> {
  const isLocal = hosts.every(({ host }) => isThisMachine(host));
  const mode = sslMode(isLocal, parameter('sslmode'));
  if (mode === 'disable' || hosts.every(({ host }) => host.startsWith('/')))
    return { tls: null, tlsOptional: false };
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

function sslMode(isLocal: boolean, text: string | undefined): SslMode {
  if (text === undefined) return isLocal ? 'disable' : 'prefer';
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
