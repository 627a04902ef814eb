/** How tests run migrate-store, and a server on what it made. */
import { join } from 'node:path';
import type { StoreSettings } from '../../src/wiring.ts';
import { type TestServer, withDataDir, withServer } from '../support/server.ts';
import { rollcallOk } from './cli-process.ts';
import { embedded, flagsOf, makeSmallStore } from './stores.ts';

interface Summary {
  readonly dry_run: boolean;
  readonly records: Readonly<Record<string, number>>;
}

export async function migrate(
  from: StoreSettings,
  to: StoreSettings,
  ...flags: readonly string[]
): Promise<Summary> {
  const args = [
    'migrate-store',
    ...flagsOf('from', from),
    ...flagsOf('to', to),
    '--json',
    '--quiet',
    ...flags,
  ];
  return JSON.parse(await rollcallOk(args)) as Summary;
}

export const serverAt = <Result>(
  { dataDir, databaseUrl }: StoreSettings,
  use: (server: TestServer) => Promise<Result>,
) => withServer({ dataDir, settings: { databaseUrl, redisUrl: null } }, use);

/** A small store, and a directory without one. */
export const withSmallStore = (
  use: (from: StoreSettings, to: StoreSettings) => Promise<void>,
): Promise<void> =>
  withDataDir(async (directory) => {
    const from = embedded(join(directory, 'from'));
    await makeSmallStore(from);
    await use(from, embedded(join(directory, 'not yet', 'to')));
  });
