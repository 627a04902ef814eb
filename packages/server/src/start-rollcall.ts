import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mintClientToken, mintProjectToken } from './auth/sign.ts';
import { once } from './concurrency/once.ts';
import { type Environment, loadSettings, SettingsError } from './config/settings.ts';
import { unknownVariables } from './config/unknown-variables.ts';
import { AdvancedClock } from './core/advanced-clock.ts';
import { type Credentials, newId, newSecret } from './core/clients/credentials.ts';
import { openLog } from './log-output.ts';
import { start } from './start.ts';

export interface StartRollcallOptions {
  /**
   * Settings by the names that docs/operations.md lists, such as `{ ROLLCALL_CORS_ORIGINS: 'http://localhost:3000' }`. Those of
   * the process are not read. Without `ROLLCALL_LOG_LEVEL` nothing is logged. An empty or undefined value counts as absent.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** A server in this process, with one project. */
export interface Rollcall {
  /** Where it is reached: `http://127.0.0.1:49152`. */
  readonly url: string;
  readonly projectID: string;
  /** Signs tokens of the project and of its clients. */
  readonly projectSecret: string;
  /** A new token of the project, for a backend; valid for 24 hours. */
  projectToken(): Promise<string>;
  /** A new token of a user, for a page, in one group or in all of the user's; valid for 24 hours. */
  clientToken(userID: string, groupID?: string): Promise<string>;
  /** Moves the clock of this server ahead by `ms`. What ends in this time, such as an ephemeral presence, ends now. */
  advance(ms: number): void;
  /** Stops the server, and removes what it stored in its own folder. Idempotent. */
  close(): Promise<void>;
  /** As {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a server for the tests of a host, in this process: on a free port, on the embedded engine in a new temporary folder.
 * Any number of them run beside each other. It handles no signals and never ends the process; the process does not end
 * before {@link Rollcall.close}.
 * @throws Error in one line when a setting is unknown or wrong, or its address cannot be listened on
 */
export async function startRollcall(options: StartRollcallOptions = {}): Promise<Rollcall> {
  const given = Object.entries(options.environment ?? {}).filter(([, text = '']) => text !== '');
  const environment: Environment = Object.fromEntries(given);
  const [unknown] = unknownVariables(environment);
  if (unknown !== undefined) throw new SettingsError(unknown);
  await using opened = new AsyncDisposableStack();
  const folder = environment.ROLLCALL_DATA_DIR ?? (await temporaryFolder(opened));
  const settings = loadSettings({ ...DEFAULTS, ...environment, ROLLCALL_DATA_DIR: folder });
  const project = { id: settings.projectId ?? newId('prj'), secret: settings.projectSecret ?? newSecret() };
  const clock = new AdvancedClock();
  const log = openLog(environment.ROLLCALL_LOG_LEVEL === undefined ? 'silent' : settings.logLevel);
  const withProject = { ...settings, projectId: project.id, projectSecret: project.secret };
  const server = await start(withProject, { clock, log, print: () => {} });
  opened.defer(() => server.close());
  return handle(server.url, project, clock, opened.move());
}

/** Nothing shares the port with another server, and there is no balancer that has to notice the stop. */
const DEFAULTS = { ROLLCALL_PORT: '0', ROLLCALL_STOP_DELAY_SECONDS: '0' };

/** A new folder, which is removed with `opened`. */
async function temporaryFolder(opened: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function handle(
  url: string,
  { id, secret }: Credentials,
  clock: AdvancedClock,
  opened: AsyncDisposableStack,
): Rollcall {
  const close = once(() => opened.disposeAsync());
  return {
    url,
    projectID: id,
    projectSecret: secret,
    projectToken: () => mintProjectToken(id, secret, clock.now()),
    clientToken: (userID, groupID) => mintClientToken(userID, groupID)(id, secret, clock.now()),
    advance: (ms) => clock.advance(ms),
    close,
    [Symbol.asyncDispose]: close,
  };
}
