import { lookup } from 'node:dns/promises';
import * as events from 'node:events';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { createConfigured, createFirst } from './bootstrap.ts';
import { once } from './concurrency/once.ts';
import type { Settings } from './config/settings.ts';
import { type Clock, systemClock } from './core/clock.ts';
import { lockDataDirectory } from './data-directory.ts';
import type { Application } from './http/application.ts';
import { HttpConnections } from './http/connections/connections.ts';
import { openLog, requireOutput } from './log-output.ts';
import { createServices, type Services } from './services.ts';
import { startMessage } from './start-message.ts';
import type { Tracing } from './tracing/tracing.ts';
import { checkEngine, closeEngine, type Engine, openEngine, removeUnfinishedStore } from './wiring.ts';

export interface RunningServer {
  /** Where this machine reaches it: `http://127.0.0.1:8080`. */
  readonly url: string;
  /**
   * Answers 503 on /readyz for the settings' stop delay, stops listening, lets requests in flight finish (for `drainMs` at
   * most), commits what is queued and closes everything. Idempotent.
   */
  close(): Promise<void>;
}

/** The address cannot be listened on. The message is one line for the operator. */
export class ListenError extends Error {}

interface StartOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  /** Default: no traces. The caller closes it, after the server. */
  readonly tracing?: Tracing | null;
  /** Prints the credentials of a first start, once. Default: to standard output. */
  readonly print?: (text: string) => void;
  /** How long closing waits for the requests in flight after the stop delay, in milliseconds. Default: 10 seconds. */
  readonly drainMs?: number;
}

const DRAIN_MS = 10_000;

/**
 * Starts a server. When a step fails, what the steps before it opened is closed again.
 * @throws SettingsError, DataDirectoryError, ListenError, or what the store fails with
 */
export async function start(settings: Settings, options: StartOptions = {}): Promise<RunningServer> {
  await checkEngine(settings);
  await using opened = new AsyncDisposableStack();
  const { clock = systemClock, log = openLog(settings.logLevel), drainMs = DRAIN_MS } = options;
  const stopDelayMs = settings.stopDelaySeconds * 1_000;
  if (settings.databaseUrl === null) {
    opened.defer(lockDataDirectory(settings.dataDir, (message) => log.warn(message)));
    await removeUnfinishedStore(settings.dataDir);
  }
  const engine = opened.adopt(await openEngine(settings, (reason) => log.fatal(reason)), closeEngine);
  await createConfigured(engine.store, settings, clock.now());
  const services = opened.adopt(
    await createServices(engine, clock, settings, log, options.tracing),
    (built) => built.close(),
  );
  const connections = new HttpConnections();
  const app = opened.adopt(buildApp(services, connections), (built) => built.close());
  opened.defer(() => stopServing(connections, app, services, { stopDelayMs, drainMs }));
  const url = await listen(app, connections, settings);
  await printFirst(engine, settings, url, clock, options.print);
  logEngine(settings, log);
  log.info({ url }, 'listening');
  const running = opened.move();
  return { url, close: once(() => running.disposeAsync()) };
}

/** Logs which engine this is, and warns of an engine that is for one process only. */
function logEngine({ databaseUrl, redisUrl, dataDir }: Settings, log: Logger): void {
  const store = databaseUrl === null ? `embedded in ${dataDir}` : 'PostgreSQL';
  const presence = redisUrl === null ? 'in this process' : 'Redis';
  log.info({ store, presence }, 'engine');
  if (databaseUrl !== null && redisUrl === null) {
    log.warn('presence is not shared: set ROLLCALL_REDIS_URL before a second process uses this database');
  }
}

/** After listening: a start that fails to listen, or cannot print, leaves the secrets to be shown by the next one. */
async function printFirst(
  engine: Engine,
  settings: Settings,
  url: string,
  clock: Clock,
  print?: (text: string) => void,
): Promise<void> {
  const first = await createFirst(engine.store, clock.now(), print === undefined ? requireOutput : undefined);
  if (first !== null) (print ?? printLine)(await startMessage(first, { ...settings, url, now: clock.now() }));
}

/**
 * /readyz answers 503 first, so that balancers send no more requests; `stopDelayMs` later no connection is accepted. Requests
 * in flight are answered and their connections closed, for `drainMs` at most.
 */
async function stopServing(
  connections: HttpConnections,
  app: Application,
  { readiness, webhookDeliveries }: Services,
  { stopDelayMs, drainMs }: { readonly stopDelayMs: number; readonly drainMs: number },
): Promise<void> {
  readiness.stop();
  if (connections.isListening && stopDelayMs > 0) {
    connections.closeAfterAnswers();
    await setTimeout(stopDelayMs);
  }
  // A stream does not end by itself: draining would wait for it in vain.
  app.stopStreams();
  await Promise.all([connections.drain(drainMs), webhookDeliveries.stop()]);
}

async function listen(
  app: Application,
  connections: HttpConnections,
  { host, port }: Settings,
): Promise<string> {
  try {
    const url = await app.listen({ host, port });
    if (host === 'localhost') await listenOnOthers(app, connections);
    return url;
  } catch (error) {
    throw new ListenError(reasonOf(error, `port ${port} of ${host}`), { cause: error });
  }
}

/** On most machines `localhost` has an address of IPv4 and one of IPv6, and clients try either. */
async function listenOnOthers(app: Application, connections: HttpConnections): Promise<void> {
  const bound = app.server.address() as AddressInfo;
  for (const { address } of await lookup('localhost', { all: true })) {
    if (address === bound.address) continue;
    const twin = connections.createServer(app.handle, app).listen(bound.port, address);
    // A machine may list an address that it does not have.
    await events.once(twin, 'listening').catch(() => {});
  }
}

function reasonOf(error: unknown, address: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return `${address} is in use: stop the program that listens there, or choose another --port`;
  if (code === 'EACCES') return `${address} may not be used by this account: choose a --port above 1023`;
  return `cannot listen on ${address}: ${message}`;
}

const printLine = (text: string) => void process.stdout.write(`${text}\n`);
