/** Processes meet on an empty database. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RollcallProcess } from '../../../../cluster/rollcall-process.ts';
import { startProcesses } from '../../../../cluster/start-cluster.ts';
import { createFirst } from '../../src/bootstrap.ts';
import { embedded, ownersOf, withOpenStore } from '../cli/stores.ts';
import { withDataDir } from '../support/server.ts';
import { KNOWN, skip, withSharedServers } from './cluster-case.ts';

const PROCESSES = 10;
/** Fewer where a customer or project is configured: the race is tested with {@link PROCESSES}. */
const CONFIGURED = 4;
const PROJECT = { ROLLCALL_PROJECT_ID: 'staging', ROLLCALL_PROJECT_SECRET: 'the secret of staging' };

interface Met {
  readonly processes: readonly RollcallProcess[];
  /** `customer: project, project`, of each customer. */
  readonly owners: readonly string[];
}

/** PostgreSQL accepts 100 connections as a rule: ten processes with pools of the usual size leave none to other tests. */
function withFewConnections(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('pool_size', '4');
  return url.href;
}

/** Starts processes at once, waits until all listen, and stops them. */
async function meet(processes: number, settings: Readonly<Record<string, string>>): Promise<Met> {
  return await withSharedServers(async (servers) => {
    const databaseUrl = withFewConnections(servers.databaseUrl);
    const started = startProcesses({ processes, ...servers, databaseUrl, settings });
    try {
      await Promise.all(started.map(({ listening }) => listening));
      await Promise.all(started.map((each) => each.end('SIGTERM')));
      for (const each of started) assert.equal(await each.ended(), 0, each.printed.join('\n'));
      return {
        processes: started,
        owners: await withOpenStore({ databaseUrl: servers.databaseUrl, dataDir: '' }, ownersOf),
      };
    } finally {
      await Promise.all(started.map((each) => each.end('SIGKILL')));
    }
  });
}

const announced = ({ processes }: Met) =>
  processes.filter(({ printed }) => printed.some((line) => line.includes('project secret')));

describe('processes that start at once on an empty database', { skip }, () => {
  test('processes that start at once create one customer with one project, and one of them prints the secrets', async () => {
    const met = await meet(PROCESSES, {});
    const [announcer, ...others] = announced(met);
    assert.ok(announcer !== undefined);
    assert.equal(others.length, 0);
    const text = announcer.printed.join('\n');
    const [, customer] = /customer ID +(\S+)/.exec(text) ?? [];
    const [, project] = /project ID +(\S+)/.exec(text) ?? [];
    assert.deepEqual(met.owners, [`${customer}: ${project}`]);
    assert.match(text, /first start on this database/);
    assert.ok(!text.includes('postgres://'), text);
  });

  test('processes that start at once create the configured customer and project, and print no secret', async () => {
    const met = await meet(CONFIGURED, { ...KNOWN, ...PROJECT });
    assert.deepEqual(met.owners, ['acme: staging']);
    assert.deepEqual(announced(met), []);
  });

  test('processes that start at once create one customer for the configured project', async () => {
    const met = await meet(CONFIGURED, PROJECT);
    assert.equal(met.owners.length, 1);
    assert.match(met.owners[0] ?? '', /^cus_\S+: staging$/);
    assert.deepEqual(announced(met), []);
  });
});

test('one of several first starts on one store creates the customer and the project', () =>
  withDataDir((dataDir) =>
    withOpenStore(embedded(dataDir), async (store) => {
      const made = await Promise.all(Array.from({ length: PROCESSES }, () => createFirst(store, Date.now())));
      const [first, ...others] = made.filter((credentials) => credentials !== null);
      assert.deepEqual(others, []);
      assert.deepEqual(await ownersOf(store), [`${first?.customer.id}: ${first?.project.id}`]);
    }),
  ));
