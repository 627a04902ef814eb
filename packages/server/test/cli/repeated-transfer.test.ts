/** A transfer between stores that is repeated after its target has gone on. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { openStore, type StoreSettings } from '../../src/wiring.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { rollcallOk } from './cli-process.ts';

async function withStore<Result>(settings: StoreSettings, use: (store: Store) => Promise<Result>) {
  const store = await openStore(settings);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** A session of a project is imported twice, and revoked at the target in between. Whether it is revoked in the end. */
function revokedBetweenTransfers(to: StoreSettings, flags: readonly string[]): Promise<boolean | undefined> {
  return withDataDir(undefined, async (fromDir) => {
    await withStore({ dataDir: fromDir, databaseUrl: null }, async (source) => {
      await source.createCustomer({ id: 'c', secret: 's', name: 'C', createdAt: 1 });
      const project = { id: 'p', customerId: 'c', name: 'P', secret: 's', createdAt: 1 };
      const made = await source.createProject(project);
      assert.ok(made.kind === 'created');
      await source.createSession({ id: 'session', project: made.project.key, expiresAt: 1 });
    });
    const transfer = ['migrate-store', '--quiet', '--from-data-dir', fromDir, ...flags];
    await rollcallOk(transfer);
    await withStore(to, async (target) => {
      assert.equal((await target.findSession('session'))?.revoked, false);
      await target.revokeSession('session');
    });
    await rollcallOk(transfer);
    return withStore(to, async (target) => (await target.findSession('session'))?.revoked);
  });
}

describe('a repeated rollcall migrate-store', () => {
  test('leaves a session revoked that was revoked in the embedded target', () =>
    withDataDir(undefined, async (directory) => {
      const dataDir = join(directory, 'to');
      const to = { dataDir, databaseUrl: null };
      assert.equal(await revokedBetweenTransfers(to, ['--to-data-dir', dataDir]), true);
    }));

  test('leaves a session revoked that was revoked in a target on PostgreSQL', { skip: skipsPostgres }, () =>
    withDatabase(async (databaseUrl) => {
      const to = { dataDir: '', databaseUrl };
      assert.equal(await revokedBetweenTransfers(to, ['--to-database-url', databaseUrl]), true);
    }),
  );
});
