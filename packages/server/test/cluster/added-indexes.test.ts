/** A migration that adds an index to a table with rows, beside processes that write to it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client } from 'pg';
import { type ClusterNode, startCluster, startProcesses } from '../../../../cluster/start-cluster.ts';
import { withClient } from '../support/postgres.ts';
import type { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import {
  createProject,
  KNOWN,
  type SharedServers,
  showFailures,
  skip,
  withSharedServers,
} from './cluster-case.ts';
import { makeNextVersion } from './next-version.ts';

/** The build of the index calls a function, which goes on when the test has released its lock. */
const WAITS = `
  CREATE FUNCTION waits(name TEXT) RETURNS TEXT IMMUTABLE LANGUAGE plpgsql
  AS $$ BEGIN
    WHILE NOT pg_try_advisory_xact_lock_shared(7) LOOP PERFORM pg_sleep(0.01); END LOOP;
    RETURN name;
  END $$`;
const MIGRATION = `
CREATE INDEX IF NOT EXISTS users_by_name ON users (project_id, waits(name));
ALTER TABLE users ADD COLUMN nick TEXT;
`;
/** Users have the same status. */
const FAILS = 'CREATE UNIQUE INDEX IF NOT EXISTS users_by_name ON users (project_id, status);';
const BUILDS = `
  SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database() AND phase LIKE 'building index%'`;
const INDEX = `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('users_by_name')`;

interface Case {
  readonly client: Client;
  readonly project: Project;
  /** Starts so many processes of the next version. */
  start(processes: number): ReturnType<typeof startProcesses>;
  /** Waits until an index is being built, and returns the sessions of PostgreSQL that do it. */
  builds(): Promise<number[]>;
}

/** A process of this version, and the lock that stops the build of the index. */
const withOlderProcess = (use: (parts: Case) => Promise<void>, migration = MIGRATION) =>
  withSharedServers((servers: SharedServers) =>
    withDataDir(async (directory) => {
      const options = { ...servers, settings: KNOWN, onLine: showFailures };
      await using old = await startCluster({ ...options, processes: 1, port: 0 });
      const [node] = old.nodes as [ClusterNode];
      const [project] = (await createProject([node.url])) as [Project];
      await project.seed({ users: [{ id: 'ann' }] });
      const launcher = makeNextVersion(directory, migration);
      await withClient(servers.databaseUrl, async (client) => {
        await client.query(WAITS);
        await client.query('SELECT pg_advisory_lock(7)');
        const pids = async () => (await client.query(BUILDS)).rows.map(({ pid }) => pid);
        await use({
          client,
          project,
          start: (processes) => startProcesses({ ...options, onLine: () => {}, launcher, processes }),
          async builds() {
            await until('the index is being built', async () => (await pids()).length > 0);
            return pids();
          },
        });
      });
    }),
  );

describe('an index that a migration adds', { skip }, () => {
  test('writes of older processes are answered 200 while the index is built, however many processes start', () =>
    withOlderProcess(async ({ client, project, start, builds }) => {
      const newer = start(2);
      try {
        assert.equal((await builds()).length, 1);
        assert.equal((await project.put('/v1/users/ann', { name: 'Ann' })).status, 200);
        assert.equal((await project.put('/v1/users/bob', { name: 'Bob' })).status, 200);
        await client.query('SELECT pg_advisory_unlock(7)');
        await Promise.all(newer.map(({ listening }) => listening));
        assert.deepEqual((await client.query(INDEX)).rows, [{ valid: true }]);
      } finally {
        await Promise.all(newer.map((process) => process.end()));
      }
    }));

  test('an index whose build has ended in the middle is built again by the next start', () =>
    withOlderProcess(async ({ client, project, start, builds }) => {
      const [first] = start(1);
      for (const pid of await builds()) await client.query('SELECT pg_terminate_backend($1)', [pid]);
      assert.equal(await first?.ended(), 1);
      assert.deepEqual((await client.query(INDEX)).rows, [{ valid: false }]);
      assert.equal((await project.put('/v1/users/ann', { name: 'Ann' })).status, 200);
      await client.query('SELECT pg_advisory_unlock(7)');
      const [second] = start(1);
      try {
        await second?.listening;
        assert.deepEqual((await client.query(INDEX)).rows, [{ valid: true }]);
      } finally {
        await second?.end();
      }
    }));

  test('nothing of an index is left where its build fails, as on a full disk, and the start ends', () =>
    withOlderProcess(async ({ client, project, start }) => {
      await project.seed({ users: [{ id: 'bob' }] });
      const [newer] = start(1);
      assert.equal(await newer?.ended(), 1);
      assert.deepEqual((await client.query(INDEX)).rows, []);
    }, FAILS));
});
