import { flushCompileCache } from 'node:module';
import process from 'node:process';
import type { Logger } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import type { Environment, Settings } from './config/settings.ts';
import { unknownVariables } from './config/unknown-variables.ts';
import { openLog } from './log-output.ts';
import { type RunningServer, start } from './start.ts';
import { onStopSignals } from './stop-signals.ts';
import { openTracing } from './tracing/open-tracing.ts';
import { inspectRedisServer } from './wiring.ts';

/**
 * Runs a server in this process until SIGTERM, SIGINT or SIGHUP, and gives the exit code. The first signal lets requests in
 * flight finish; a second one ends the process at once.
 * @throws what {@link start} throws
 */
export async function serveUntilStopped(settings: Settings, environment: Environment): Promise<number> {
  const log = openLog(settings.logLevel);
  endOnDefect(log);
  const signalled = stopSignal(log);
  for (const unknown of unknownVariables(environment)) log.warn(unknown);
  const tracing = await openTracing(environment, manifest.version, log);
  const server: RunningServer = await start(settings, { log, tracing });
  // Everything is loaded now. A server that is killed later has written the cache all the same.
  flushCompileCache();
  void warnOfRedis(settings, log);
  log.info({ signal: await signalled }, 'stopping');
  await server.close();
  const isTraced = await tracing?.close();
  log.info('stopped');
  // The exporter's retries would keep the process alive.
  if (isTraced === false) process.exit(0);
  return 0;
}

/** Redis reports no error where it evicts presence, which then departs too early. */
async function warnOfRedis({ redisUrl }: Settings, log: Logger): Promise<void> {
  if (redisUrl === null) return;
  try {
    const { concern } = await inspectRedisServer(redisUrl);
    if (concern !== null) log.warn(`Redis: ${concern.found}. ${concern.advice}`);
  } catch (err) {
    log.debug(
      { err },
      'the settings of Redis were not checked: its account may not read them, or it is away',
    );
  }
}

function stopSignal(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    onStopSignals(resolve, (signal) => {
      log.warn({ signal }, 'stopping at once');
      process.exit(1);
    });
  });
}

/** After an error that was not caught the state of the process is unknown: the error is logged, and the process ends. */
function endOnDefect(log: Logger): void {
  const end = (err: unknown, message: string) => {
    log.fatal({ err }, message);
    process.exit(1);
  };
  process.on('uncaughtException', (error) => end(error, 'uncaught exception'));
  process.on('unhandledRejection', (reason) => end(reason, 'unhandled rejection'));
}
