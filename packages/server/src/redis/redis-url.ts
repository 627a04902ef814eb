import { readFileSync } from 'node:fs';
import { PERCENT_ENCODING, readAddresses, type ServerAddress } from '../values/server-address.ts';

export interface RedisTarget {
  /** One server, or several of which each names the others: nodes of a cluster, or sentinels. */
  readonly hosts: readonly ServerAddress[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  /** The name of the master for the sentinels; null where `hosts` are servers. */
  readonly sentinel: string | null;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  /** The prefix of all keys and channels. */
  readonly prefix: string;
  readonly connectTimeoutMs: number;
  /** How long an answer may take before the connection counts as dead. */
  readonly timeoutMs: number;
}

/** A URL that names no Redis. The message is one line and leaves out the URL, which has a password in it. */
export class RedisUrlError extends Error {}

const URL_SHAPE = /^(rediss?):\/\/(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
/** A second @ before the first of / ? #, or one after that: a password with one of these characters. */
const STRAY_AT = /^rediss?:\/\/(?:[^@/?#]*@[^@/?#]*@|[^/?#]*[/?#].*@)/;
const PREFIX_SHAPE = /^[A-Za-z0-9._:-]{1,64}$/;
const PARAMETERS = [
  'prefix',
  'sentinel',
  'sentinel_username',
  'sentinel_password',
  'ca',
  'cert',
  'key',
  'connect_timeout_ms',
  'timeout_ms',
];

/**
 * Reads `redis://user:password@host:port/db` (`rediss:` for TLS; several hosts with commas between them). A cluster is
 * recognised when it is connected to. Parameters:
 * - `prefix` (`rollcall`): what all keys and channels begin with, so that several Rollcalls can share a server
 * - `sentinel`: the hosts are sentinels (port 26379), and this is the name of the master that they watch; with
 *   `sentinel_username` and `sentinel_password` where the sentinels require them
 * - `ca`, `cert`, `key`: paths of PEM files, for a private authority and a client certificate
 * - `connect_timeout_ms` (1500), `timeout_ms` (2500)
 * @throws RedisUrlError
 */
export function parseRedisUrl(url: string): RedisTarget {
  // What is before it may be the end of a password, which no message repeats.
  if (STRAY_AT.test(url))
    throw new RedisUrlError(`it has an @ that is not before the hosts; ${PERCENT_ENCODING}`);
  const [, scheme, credentials, hosts, db, query] = URL_SHAPE.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) {
    throw new RedisUrlError('must be redis://host:port or rediss://host:port');
  }
  const parameters = readParameters(query ?? '');
  const sentinel = parameters.get('sentinel') ?? null;
  const [username, password] = readCredentials(credentials ?? '');
  return {
    hosts: readHosts(hosts, sentinel === null ? 6379 : 26379),
    username,
    password,
    db: readNumber(db === undefined || db === '' ? '0' : db, 'the database', 0),
    tls: scheme === 'rediss' ? readTls(parameters) : undefined,
    sentinel,
    sentinelUsername: parameters.get('sentinel_username'),
    sentinelPassword: parameters.get('sentinel_password'),
    prefix: readPrefix(parameters.get('prefix') ?? 'rollcall'),
    connectTimeoutMs: readNumber(parameters.get('connect_timeout_ms') ?? '1500', 'connect_timeout_ms', 1),
    timeoutMs: readNumber(parameters.get('timeout_ms') ?? '2500', 'timeout_ms', 1),
  };
}

function readParameters(query: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!PARAMETERS.includes(name)) {
      throw new RedisUrlError(`unknown parameter ${name}: there are ${PARAMETERS.join(', ')}`);
    }
    if (value === '' || parameters.has(name)) throw new RedisUrlError(`${name} must be given one value`);
    parameters.set(name, value);
  }
  return parameters;
}

function readHosts(text: string, defaultPort: number): ServerAddress[] {
  const hosts = readAddresses(text, defaultPort);
  if (hosts?.every(({ host }) => host !== '')) return hosts;
  throw new RedisUrlError('needs host or host:port, several with commas between them');
}

function readCredentials(text: string): [username: string | undefined, password: string | undefined] {
  const colon = text.indexOf(':');
  const [username, password] = colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
  const decoded = [username, password].map((part) => (part === '' ? undefined : decode(part)));
  return [decoded[0], decoded[1]];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError(`it has a % without two digits; ${PERCENT_ENCODING}`);
  }
}

function readTls(parameters: ReadonlyMap<string, string>): NonNullable<RedisTarget['tls']> {
  const files = ['ca', 'cert', 'key'].flatMap((name) => {
    const path = parameters.get(name);
    return path === undefined ? [] : [[name, readPem(name, path)]];
  });
  return Object.fromEntries(files);
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RedisUrlError(`${name}: the file ${path} cannot be read`, { cause });
  }
}

function readPrefix(prefix: string): string {
  if (PREFIX_SHAPE.test(prefix)) return prefix;
  throw new RedisUrlError('prefix must be 1 to 64 characters of A-Z, a-z, 0-9 and . _ : -');
}

function readNumber(text: string, name: string, min: number): number {
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= min) return number;
  throw new RedisUrlError(`${name} must be a whole number from ${min} on`);
}
