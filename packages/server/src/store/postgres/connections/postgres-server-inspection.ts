import { PostgresConnection } from './postgres-connection.ts';
import { parsePostgresUrl } from './postgres-url.ts';

/** How long the server may take to answer, in milliseconds. */
const ANSWER_LIMIT_MS = 5_000;

const STATE = `
  SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp()) * 1000,
         coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)`;

export interface PostgresServerInspection {
  readonly version: string;
  readonly encrypted: boolean;
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  readonly aheadMs: number;
  /** What should be changed; none is known. */
  readonly concern: null;
}

/** Asks the server of a database about itself, and changes nothing. @throws StoreUnavailableError */
export async function inspectPostgresServer(url: string): Promise<PostgresServerInspection> {
  const connection = await PostgresConnection.open(parsePostgresUrl(url));
  try {
    const askedAt = Date.now();
    const [row = []] = await connection.run([STATE], performance.now() + ANSWER_LIMIT_MS);
    const [version, clock, encrypted] = row;
    return {
      version: String(version).replace(/ .*$/, ''),
      encrypted: encrypted === true,
      aheadMs: Number(clock) - (askedAt + Date.now()) / 2,
      concern: null,
    };
  } finally {
    await connection.close();
  }
}
