import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { type Logger, pino } from 'pino';
import type { Environment, Settings } from './config/settings.ts';
import { describeUnknown, unknownVariables } from './config/unknown-variables.ts';
import { type RunningServer, start } from './start.ts';

/**
 * Two signals within this time are one: on Ctrl-C the terminal signals every process, and npm and the launcher pass the
 * signal on.
 */
const SAME_SIGNAL_MS = 500;

/**
 * Runs a server in this process until SIGTERM or SIGINT, and gives the exit code. The first signal lets requests in
 * flight finish; a second one ends the process at once.
 * @throws what {@link start} throws
 */
export async function serveUntilStopped(settings: Settings, environment: Environment): Promise<number> {
  const log = pino({ level: settings.logLevel });
  endOnDefect(log);
  const signalled = stopSignal(log);
  for (const unknown of unknownVariables(environment)) log.warn(describeUnknown(unknown));
  const server: RunningServer = await start(settings, { log });
  // Everything is loaded now. A server that is killed later has written the cache all the same.
  flushCompileCache();
  log.info({ signal: await signalled }, 'stopping');
  await server.close();
  log.info('stopped');
  return 0;
}

function stopSignal(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      const now = performance.now();
      firstAt ??= now;
      if (now - firstAt <= SAME_SIGNAL_MS) return resolve(signal);
      log.warn({ signal }, 'stopping at once');
      process.exit(1);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
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
