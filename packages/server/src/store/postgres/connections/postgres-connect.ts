import type { Duplex } from 'node:stream';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import pg, { DatabaseError } from 'pg';
import type { PostgresHost, PostgresSettings } from './postgres-url.ts';

/** How long opening a connection may take, with all hosts that are tried, in milliseconds. */
const CONNECT_LIMIT_MS = 3_000;
/** An idle connection for so long is probed by the kernel, in milliseconds: it ends when the server's machine is gone. */
const KEEP_ALIVE_MS = 10_000;
/**
 * The same on the server, in seconds and milliseconds: some 40 s after the machine of this process is gone, its sessions end. By default they
 * would count among the server's connections for two hours.
 */
const SERVER_KEEP_ALIVE: readonly Setting[] = [
  ['tcp_keepalives_idle', KEEP_ALIVE_MS / 1_000],
  ['tcp_keepalives_interval', KEEP_ALIVE_MS / 1_000],
  ['tcp_keepalives_count', 3],
  ['tcp_user_timeout', 4 * KEEP_ALIVE_MS],
];

/**
 * Without statistics (after a restore, without autovacuum) PostgreSQL takes all rows of a project for a few and reads all
 * of them, to join them with a list or to sort them. These settings leave nested loops and indexes: the time of a statement
 * then depends on its lists, not on the statistics. Statements with lists are written for that: see postgres-lists.ts.
 * Compiling plans (jit) costs more than any of these statements takes.
 */
export const PLANNER_SETTINGS = [
  'jit',
  'enable_seqscan',
  'enable_bitmapscan',
  'enable_hashjoin',
  'enable_mergejoin',
];
/** What a statement means depends on these. A role or a database can have other values, for older programs. */
const LANGUAGE_SETTINGS = ['standard_conforming_strings', 'array_nulls'];
/** Whether the server is a standby: not a setting that can be changed. PostgreSQL has it since version 14. */
const IN_HOT_STANDBY = 'in_hot_standby';

export type Setting = readonly [name: string, value: string | number];

export interface ConnectionOptions {
  /** How long a statement waits for a lock, in milliseconds, unless its transaction has its own limit. Default: no limit. */
  readonly lockTimeoutMs?: number;
  /** When it must have been made, a time of `performance.now()`. It may take 3 s at most. */
  readonly until?: number;
}

/** A connection that was opened, and what is known of the server. */
export interface OpenedClient {
  readonly client: pg.Client;
  /** The settings and the read-only variables that the server knows. */
  readonly known: ReadonlySet<string>;
  /**
   * Null: the connection is one session of the server, which has the settings. Otherwise a pooler stands between, and every
   * transaction can be in another session: each of them begins with these settings, and no statement has a name.
   */
  readonly pooled: readonly Setting[] | null;
}

/** The host that was the primary when a connection was last opened. */
const primaries = new WeakMap<PostgresSettings, PostgresHost>();

/**
 * Connects to the first of the hosts that is no standby, beginning with the last primary. @throws Error of the last host that
 * answered, or else of the last one
 */
export async function openClient(
  settings: PostgresSettings,
  { lockTimeoutMs = 0, until = Number.POSITIVE_INFINITY }: ConnectionOptions,
): Promise<OpenedClient> {
  const last = primaries.get(settings);
  const hosts = settings.hosts.toSorted((one, other) => Number(other === last) - Number(one === last));
  const limit = Math.min(until, performance.now() + CONNECT_LIMIT_MS);
  let failure: unknown;
  for (const [index, host] of hosts.entries()) {
    // A host that does not respond leaves their share to the others.
    const share = (limit - performance.now()) / (hosts.length - index);
    try {
      const opened = await openHost(settings, host, lockTimeoutMs, performance.now() + share);
      primaries.set(settings, host);
      return opened;
    } catch (error) {
      if (error instanceof DatabaseError || !(failure instanceof DatabaseError)) failure = error;
    }
  }
  throw failure;
}

async function openHost(
  settings: PostgresSettings,
  host: PostgresHost,
  lockTimeoutMs: number,
  until: number,
): Promise<OpenedClient> {
  const { tls, tlsOptional } = settings;
  const client = await connect(settings, host, tls, until).catch((error: Error) => {
    if (!tlsOptional || !error.message.includes('does not support SSL')) throw error;
    return connect(settings, host, null, until);
  });
  try {
    return await prepare(client, sessionSettings(settings, lockTimeoutMs), until);
  } catch (error) {
    client.end().catch(() => {});
    throw error;
  }
}

async function connect(
  settings: PostgresSettings,
  { host, port }: PostgresHost,
  tls: TlsOptions | null,
  until: number,
): Promise<pg.Client> {
  const { database, user, password, applicationName } = settings;
  const client = new pg.Client({
    host,
    port,
    database,
    user,
    password,
    ssl: tls ?? false,
    application_name: applicationName,
    connectionTimeoutMillis: leftMs(until),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: true,
  } as pg.ClientConfig);
  // Until it is connected, `connect` rejects with what went wrong.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    // A failure of its own, such as a missing password, leaves the connection open.
    streamOf(client).destroy();
    throw error;
  }
}

/** The connection itself, a private part of the client. */
export const streamOf = (client: pg.Client): Duplex =>
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream;

/** 0 would be no limit. */
const leftMs = (until: number) => Math.max(1, Math.ceil(until - performance.now()));

/** Not sent with the connection's start: PgBouncer rejects settings there, or ignores them. */
const sessionSettings = (settings: PostgresSettings, lockTimeoutMs: number): Setting[] => [
  ['statement_timeout', settings.statementTimeoutMs],
  ['lock_timeout', lockTimeoutMs],
  ['idle_in_transaction_session_timeout', settings.idleInTransactionMs],
  ...LANGUAGE_SETTINGS.map((name): Setting => [name, 'on']),
  ...PLANNER_SETTINGS.map((name): Setting => [name, 'off']),
];

/**
 * Gives the session its settings, where it is one. A server names its process when a connection starts; a pooler names another
 * one, since it has no process of the server yet. A database that does not know one of the settings needs none of it.
 */
async function prepare(
  client: pg.Client,
  settings: readonly Setting[],
  until: number,
): Promise<OpenedClient> {
  const { processID } = client as unknown as { readonly processID: number };
  const named = [...settings, ...SERVER_KEEP_ALIVE, [IN_HOT_STANDBY, '']];
  const values = named.map(([name, value]) => `('${name}', '${value}')`);
  const text = `
    SELECT name, current_setting(name), pg_backend_pid() = ${processID},
      CASE WHEN pg_backend_pid() = ${processID} AND value <> '' THEN set_config(name, value, FALSE) END
    FROM (VALUES ${values.join(', ')}) AS s(name, value) WHERE current_setting(name, TRUE) IS NOT NULL`;
  const query = { text, rowMode: 'array', query_timeout: leftMs(until) } as const;
  const { rows } = await client.query<[name: string, value: string, isSession: boolean]>(query);
  if (rows.some(([name, value]) => name === IN_HOT_STANDBY && value === 'on')) throw new Error(IS_STANDBY);
  const known = new Set(rows.map(([name]) => name));
  const isSession = rows[0]?.[2] === true;
  return { client, known, pooled: isSession ? null : settings.filter(([name]) => known.has(name)) };
}

export const IS_STANDBY = 'it is a standby, which may not have the newest writes yet';

/** The beginning of a transaction. Its last answer is for {@link isStandby}. */
export function beginText(
  { known, pooled }: OpenedClient,
  mode: string,
  settings: readonly Setting[],
): string {
  const texts = [...(pooled ?? []), ...settings]
    .filter(([name]) => known.has(name))
    .map(([name, value]) => `SET LOCAL ${name} = ${value}`);
  const check = pooled !== null && known.has(IN_HOT_STANDBY) ? [`SHOW ${IN_HOT_STANDBY}`] : [];
  return [`BEGIN ISOLATION LEVEL ${mode}`, ...texts, ...check].join('; ');
}

/** Whether a transaction with these last rows is on a standby: behind a pooler, each can be on another server than the one before. */
export const isStandby = (rows: readonly (readonly unknown[])[]): boolean => rows[0]?.[0] === 'on';
