import type { Command } from 'commander';
import { type Environment, readVariable, SettingsError } from '../config/environment.ts';
import { localUrl } from '../config/local-url.ts';
import { url } from '../config/setting-kinds.ts';
import { loadOnly } from '../config/settings.ts';
import { usageError } from './command-error.ts';

const VARIABLE = 'ROLLCALL_URL';
const SERVER_URL = url('http', 'https');

/** Adds `--url`, for {@link findServer}. */
export function addServerUrlOption(command: Command): Command {
  return command.option(
    '--url <url>',
    `the running server (${VARIABLE}, default: http at ROLLCALL_HOST and ROLLCALL_PORT)`,
  );
}

/** A server that a command sends requests to. */
export interface ServerLocation {
  readonly url: string;
  /** Whether the operator gave the URL. Otherwise it comes from the settings, and the server need not run. */
  readonly isNamed: boolean;
}

/**
 * The server of `--url`, else of `ROLLCALL_URL`, else the one that `ROLLCALL_HOST` and `ROLLCALL_PORT` describe. Null
 * where the port is 0: the server takes a free one, and only its log has the number.
 * @throws SettingsError when a value cannot be read
 */
export function findServer(flag: string | undefined, environment: Environment): ServerLocation | null {
  if (flag !== undefined) return { url: readUrl('--url', flag), isNamed: true };
  const variable = readVariable(environment, VARIABLE);
  if (variable !== null) return { url: readUrl(variable.name, variable.text), isNamed: true };
  const { host, port } = loadOnly(['host', 'port'], environment);
  return port === 0 ? null : { url: localUrl(host, port), isNamed: false };
}

/** The same, for a command that needs a server. @throws CommandError, SettingsError */
export function requireServer(flag: string | undefined, environment: Environment): string {
  const server = findServer(flag, environment);
  if (server === null)
    throw usageError(`ROLLCALL_PORT is 0: name the running server with --url or ${VARIABLE}`);
  return server.url;
}

function readUrl(source: string, text: string): string {
  const value = SERVER_URL.read(text);
  const parsed = value === undefined ? null : URL.parse(value);
  if (value === undefined || parsed === null) {
    // What is before an @ can be a password.
    const given = text.includes('@') ? 'the value given' : JSON.stringify(text);
    throw new SettingsError(`${source}: expected ${SERVER_URL.expected}, not ${given}`);
  }
  if (parsed.username === '' && parsed.password === '') return value;
  // Requests have a token instead, and messages name the URL.
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
