/** A whole server in this process, for tests over HTTP. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { loadSettings, type Settings } from '../../src/config/settings.ts';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { type RunningServer, start } from '../../src/start.ts';
import { engineSettings, releaseEngine } from './engine.ts';
import { type Answer, send } from './http-client.ts';
import { jwt, seconds } from './jwt.ts';

const CUSTOMER = { id: 'test-customer', secret: 'test-customer-secret' };
const PROJECT = { id: 'test-project', secret: 'test-project-secret' };

export interface TestServerOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  readonly settings?: Partial<Settings>;
  /** Default: no log. */
  readonly log?: Logger;
  /** A data directory of the caller, which outlives the server. Default: a new one. */
  readonly dataDir?: string;
  /** How long stopping waits for requests in flight, in milliseconds. */
  readonly drainMs?: number;
}

export interface TestRequest {
  /** Default: the project's token. Null: no Authorization header. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Strings and bytes are sent as they are, other values as JSON. The default content type is `application/json`. */
  readonly body?: unknown;
}

export interface TestAnswer extends Pick<Answer, 'status' | 'headers' | 'text' | 'json'> {
  /** The body as JSON; null when it is not JSON. */
  readonly body: unknown;
}

export interface TestServer {
  readonly url: string;
  readonly dataDir: string;
  readonly customerId: string;
  readonly customerSecret: string;
  /** Signed at the clock's time of the start; valid for 24 hours of it. */
  readonly customerToken: string;
  readonly projectId: string;
  readonly projectSecret: string;
  readonly projectToken: string;
  /** Sends the path exactly as it is given. */
  request(method: string, path: string, request?: TestRequest): Promise<TestAnswer>;
}

/**
 * Runs `use` with a server on a free port and a new data directory, with one customer and one project, and stops it. A file
 * or port that the server leaves open fails the test.
 */
export async function withServer<Result>(
  options: TestServerOptions,
  use: (server: TestServer) => Promise<Result>,
): Promise<Result> {
  const run = async (dataDir: string) => {
    const running = await startForTest(options, dataDir);
    let result: Result;
    try {
      result = await use(testServer(running, dataDir, options.clock ?? systemClock));
    } finally {
      await running.close();
    }
    assert.deepEqual(await openFilesIn(dataDir), [], 'the stopped server left files open');
    assert.equal(await listensAt(running.url), false, 'the stopped server still listens');
    return result;
  };
  return options.dataDir === undefined ? await withDataDir(run) : await run(options.dataDir);
}

/** The settings of a server in tests: a free port, and a known customer and project. */
export function testSettings(dataDir: string, overrides: Partial<Settings> = {}): Settings {
  return {
    ...loadSettings({}),
    port: 0,
    // There is no balancer that has to notice the stop.
    stopDelaySeconds: 0,
    dataDir,
    customerId: CUSTOMER.id,
    customerSecret: CUSTOMER.secret,
    projectId: PROJECT.id,
    projectSecret: PROJECT.secret,
    ...overrides,
  };
}

/** A state in Linux' table of sockets. */
const LISTENING = '0A';

/** Runs `use` with a new directory, and removes it. */
export async function withDataDir<Result>(use: (dataDir: string) => Promise<Result>): Promise<Result> {
  const dataDir = await mkdtemp(join(tmpdir(), 'rollcall-test-'));
  try {
    return await use(dataDir);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
    await releaseEngine(dataDir);
  }
}

async function startForTest(options: TestServerOptions, dataDir: string): Promise<RunningServer> {
  const log = options.log ?? pino({ level: 'silent' });
  const clock = options.clock ?? systemClock;
  const settings = testSettings(dataDir, { ...(await engineSettings(dataDir)), ...options.settings });
  const drain = options.drainMs === undefined ? {} : { drainMs: options.drainMs };
  return start(settings, { clock, log, print: () => {}, ...drain });
}

function testServer({ url }: RunningServer, dataDir: string, clock: Clock): TestServer {
  const iat = seconds(clock.now());
  const projectToken = jwt({ project_id: PROJECT.id, iat }, PROJECT.secret);
  return {
    url,
    dataDir,
    customerId: CUSTOMER.id,
    customerSecret: CUSTOMER.secret,
    customerToken: jwt({ customer_id: CUSTOMER.id, iat }, CUSTOMER.secret),
    projectId: PROJECT.id,
    projectSecret: PROJECT.secret,
    projectToken,
    request: (method, path, request = {}) => requestFrom(url, projectToken, method, path, request),
  };
}

async function requestFrom(
  url: string,
  projectToken: string,
  method: string,
  path: string,
  { token = projectToken, headers = {}, body }: TestRequest,
): Promise<TestAnswer> {
  const content = body === undefined ? {} : { body: bytesOf(body) };
  const all: Record<string, string> = { ...headers };
  if (token !== null) all.authorization ??= `Bearer ${token}`;
  if (body !== undefined) all['content-type'] ??= 'application/json';
  const answer = await send(url, method, path, { headers: all, ...content });
  const { status, headers: answered, text } = answer;
  return { status, headers: answered, text, json: () => answer.json(), body: jsonOrNull(text) };
}

const bytesOf = (body: unknown) =>
  typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The files and sockets that this process has open, as Linux names them; empty on systems without /proc. */
async function openTargets(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd').catch(() => []);
  return await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
}

const openFilesIn = async (directory: string): Promise<string[]> =>
  (await openTargets()).filter((target) => target.startsWith(directory));

/** Whether this process listens on the URL's port: another process can be given the port as soon as a server has stopped. */
async function listensAt(url: string): Promise<boolean> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '');
  const listening = table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${port}`) && state === LISTENING)
    .map(([, , , , , , , , , inode]) => `socket:[${inode}]`);
  const open = await openTargets();
  return listening.some((socket) => open.includes(socket));
}
