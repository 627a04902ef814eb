/**
 * A Rollcall for measuring: the product's own start, or with `"maxOperationsPerCommit": 1` the same app on a store that
 * gives every write a commit of its own. Takes its options as JSON; prints `{"port": …}` when it listens.
 */
import { pino } from 'pino';
import { buildApp } from '../packages/server/src/app.ts';
import { createConfigured } from '../packages/server/src/bootstrap.ts';
import { createMemoryBroker } from '../packages/server/src/broker/memory/memory-broker.ts';
import { loadSettings } from '../packages/server/src/config/settings.ts';
import { systemClock } from '../packages/server/src/core/clock.ts';
import { createMemoryPresence } from '../packages/server/src/presence/memory/memory-presence.ts';
import { createServices } from '../packages/server/src/services.ts';
import { start } from '../packages/server/src/start.ts';
import { openSqliteStore } from '../packages/server/src/store/sqlite/sqlite-store.ts';
import { CUSTOMER, PROJECT } from './credentials.ts';

export interface ServerOptions {
  readonly dataDir: string;
  readonly maxOperationsPerCommit?: number;
  /** Default: a day, so that nothing that is measured expires meanwhile. */
  readonly presenceTtlSeconds?: number;
  /** The scale-out engine. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
}

const options = JSON.parse(process.argv[2] as string) as ServerOptions;
const settings = loadSettings({
  ROLLCALL_DATA_DIR: options.dataDir,
  ROLLCALL_PORT: '0',
  ROLLCALL_CUSTOMER_ID: CUSTOMER.id,
  ROLLCALL_CUSTOMER_SECRET: CUSTOMER.secret,
  ROLLCALL_PROJECT_ID: PROJECT.id,
  ROLLCALL_PROJECT_SECRET: PROJECT.secret,
  ROLLCALL_PRESENCE_TTL_SECONDS: String(options.presenceTtlSeconds ?? 86_400),
  ...(options.databaseUrl === undefined ? {} : { ROLLCALL_DATABASE_URL: options.databaseUrl }),
  ...(options.redisUrl === undefined ? {} : { ROLLCALL_REDIS_URL: options.redisUrl }),
});
const log = pino({ level: 'warn' });

async function startVariant(maxOperationsPerCommit: number): Promise<string> {
  const store = await openSqliteStore({ dataDir: options.dataDir, maxOperationsPerCommit });
  await createConfigured(store, settings, Date.now());
  const engine = { store, presence: createMemoryPresence(), broker: createMemoryBroker() };
  const app = buildApp(await createServices(engine, systemClock, settings, log));
  return app.listen({ host: '127.0.0.1', port: 0 });
}

const url =
  options.maxOperationsPerCommit === undefined
    ? (await start(settings, { log, announce: () => {} })).url
    : await startVariant(options.maxOperationsPerCommit);
console.log(JSON.stringify({ port: Number(new URL(url).port) }));
process.on('SIGTERM', () => process.exit(0));
