/** A PgBouncer in transaction mode for one test, in front of a PostgreSQL. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, OwnProgram, withDirectory } from './own-program.ts';
import { withClient } from './postgres.ts';
import { findProgram, isRequired } from './programs.ts';
import { until } from './waiting.ts';

const program = findProgram(['pgbouncer'], ['/usr/sbin']);

/** Why tests behind PgBouncer are skipped, or false: where it is required, its absence fails them. */
export const skipsPgbouncer =
  program === undefined && !isRequired('pgbouncer')
    ? 'there is no pgbouncer in the PATH or in /usr/sbin'
    : false;

export interface OwnPgbouncer {
  /** The URL of a database of the server, as it is reached through PgBouncer. */
  urlOf(databaseUrl: string): string;
  /** Ends it with all connections, and starts it again. */
  restart(): Promise<void>;
}

/**
 * Runs `use` with a PgBouncer in front of the server of `url`, with so few connections to it that all callers share them.
 * @param settings further lines of its configuration
 */
export async function withPgbouncer<Result>(
  url: string,
  use: (bouncer: OwnPgbouncer) => Promise<Result>,
  settings: readonly string[] = [],
): Promise<Result> {
  if (program === undefined) throw new Error('there is no pgbouncer');
  const { hostname, port, username, password } = new URL(url);
  return await withDirectory('pgbouncer', async (directory) => {
    const own = await freePort();
    const file = join(directory, 'pgbouncer.ini');
    const users = join(directory, 'users.txt');
    writeFileSync(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
    const lines = [
      '[databases]',
      `* = host=${hostname} port=${port || 5_432}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${users}`,
      'pool_mode = transaction',
      'default_pool_size = 4',
      'max_client_conn = 200',
      ...settings,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    const urlOf = (databaseUrl: string) => {
      const through = new URL(databaseUrl);
      through.host = `127.0.0.1:${own}`;
      return through.href;
    };
    const start = async () => {
      const started = await OwnProgram.start(directory, program, file);
      await until('PgBouncer answers', () =>
        withClient(urlOf(url), (client) => client.query('SELECT 1')).then(() => true),
      );
      return started;
    };
    let running = await start();
    try {
      const restart = async () => {
        await running[Symbol.asyncDispose]();
        running = await start();
      };
      return await use({ urlOf, restart });
    } finally {
      await running[Symbol.asyncDispose]();
    }
  });
}
