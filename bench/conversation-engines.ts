/** The two engines that threads and messages are measured on: how a store is filled, and how large it is. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { STORE_FILE } from '../packages/server/src/store/sqlite/sqlite-store.ts';
import type { Threads } from './conversation-dataset.ts';
import { fillPostgres, fillSqlite } from './conversation-fill.ts';
import type { Filled } from './conversation-operations.ts';
import { projectToken } from './credentials.ts';
import { fill, SMALL } from './dataset.ts';
import { type Child, freshDirectory, type RollcallOptions, startRollcall } from './processes.ts';
import { hasServers, makeServers, rowsOf } from './scale-out-servers.ts';

/** A store that a server can be started on. */
interface MeasuredStore extends AsyncDisposable {
  readonly options: RollcallOptions;
  fill(threads: Threads): void | Promise<void>;
  bytes(): number | Promise<number>;
  /** Makes the space of rows that were replaced or deleted available to others, where the engine does not do that by itself. */
  vacuum(): void | Promise<void>;
  /** Whether nothing is left of deleted groups. */
  isPurged(): boolean | Promise<boolean>;
}

export interface Engine {
  readonly name: string;
  /** The load generator takes a core of its own and never sleeps. PostgreSQL needs its core. */
  readonly isEmbedded: boolean;
  makeStore(): Promise<MeasuredStore>;
}

const EMBEDDED: Engine = {
  name: 'the embedded engine',
  isEmbedded: true,
  async makeStore() {
    const dataDirectory = freshDirectory();
    const sizeOf = (name: string) => statSync(join(dataDirectory, name)).size;
    return {
      options: { dataDirectory },
      fill: (threads) => fillSqlite(dataDirectory, threads),
      bytes: () => readdirSync(dataDirectory).reduce((sum, name) => sum + sizeOf(name), 0),
      vacuum() {},
      isPurged: () => isSqlitePurged(join(dataDirectory, STORE_FILE)),
      [Symbol.asyncDispose]: async () => {},
    };
  },
};

/** The purge leaves so many free pages in the file. */
const FREE_PAGES = 1_024;

function isSqlitePurged(file: string): boolean {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const deleted = database.prepare('SELECT 1 FROM conversations WHERE group_no IS NULL LIMIT 1').get();
    const free = Number(database.prepare('PRAGMA freelist_count').get()?.freelist_count);
    return deleted === undefined && free <= FREE_PAGES;
  } finally {
    database.close();
  }
}

const SCALE_OUT: Engine = {
  name: 'PostgreSQL and Redis',
  isEmbedded: false,
  async makeStore() {
    const servers = await makeServers();
    const { databaseUrl } = servers.urls;
    return {
      options: servers.urls,
      fill: (threads) => fillPostgres(databaseUrl, threads),
      async bytes() {
        const [[bytes]] = (await rowsOf(
          databaseUrl,
          'SELECT pg_database_size(current_database())::float8',
        )) as [[number]];
        return bytes;
      },
      async vacuum() {
        await rowsOf(databaseUrl, 'VACUUM');
      },
      async isPurged() {
        const left = await rowsOf(databaseUrl, 'SELECT 1 FROM deleted_conversations LIMIT 1');
        return left.length === 0;
      },
      [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
    };
  },
};

/** The engines whose name contains the text. PostgreSQL and Redis need not be there. */
export async function measuredEngines(what: string, only: string): Promise<Engine[]> {
  const engines = [EMBEDDED, SCALE_OUT].filter(({ name }) => name.includes(only));
  return (await hasServers(`${what} on PostgreSQL`))
    ? engines
    : engines.filter(({ isEmbedded }) => isEmbedded);
}

/** A server with users, groups and threads. */
export interface FilledServer extends Filled, AsyncDisposable {
  readonly server: Child;
  readonly store: MeasuredStore;
}

/** Starts a server on a store with these threads. */
export async function startFilled(
  engine: Engine,
  [threads, ...more]: readonly [Threads, ...Threads[]],
): Promise<FilledServer> {
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await engine.makeStore());
  const token = await projectToken();
  const first = await startRollcall(store.options);
  await fill(first, token, SMALL);
  await first.stop();
  for (const each of [threads, ...more]) await store.fill(each);
  const server = opened.use(await startRollcall(store.options));
  const owned = opened.move();
  return {
    ...{ server, token, store, threads, deep: more[0] ?? threads },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
