/** Rollcall processes behind a PgBouncer in transaction mode, which gives each transaction to any session of PostgreSQL. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Cluster, startCluster } from '../../../../cluster/start-cluster.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { proveChanges } from '../changes/change-proof.ts';
import { createProject, KNOWN, showFailures, skip } from '../cluster/cluster-case.ts';
import { type OwnPgbouncer, skipsPgbouncer, withPgbouncer } from '../support/own-pgbouncer.ts';
import { ownDatabase, withClient, withDatabase } from '../support/postgres.ts';
import type { Project } from '../support/project-client.ts';
import { freshRedisUrl } from '../support/redis.ts';
import { postgresUrl } from '../support/servers.ts';
import { suiteResource } from '../support/suite-resource.ts';
import { until } from '../support/waiting.ts';
import { Lane } from './lane.ts';
import { type Call, callOf, createRegisters } from './register.ts';

const seed = Date.now() % 1_000_000;
const CHANGES = 3_000;
const ANSWERS_AFTER = 5;

/** Values that no session of Rollcall has, nor its transactions. */
const DEFAULTS = { enable_seqscan: 'on', lock_timeout: '0', statement_timeout: '0' };

interface Scene {
  readonly bouncer: OwnPgbouncer;
  /** Reached without PgBouncer, and through it. */
  readonly databaseUrl: string;
  readonly pooledUrl: string;
  readonly cluster: Cluster;
}

async function withScene(use: (scene: Scene) => Promise<void>): Promise<void> {
  await withPgbouncer(postgresUrl(), async (bouncer) => {
    const { url: databaseUrl, remove } = await ownDatabase();
    try {
      const pooledUrl = bouncer.urlOf(databaseUrl);
      const servers = { databaseUrl: pooledUrl, redisUrl: freshRedisUrl() };
      await using cluster = await startCluster({
        processes: 2,
        port: 0,
        ...servers,
        settings: KNOWN,
        onLine: showFailures,
      });
      await use({ bouncer, databaseUrl, pooledUrl, cluster });
    } finally {
      await remove();
    }
  });
}

describe(`behind PgBouncer, with the seed ${seed}`, { skip: skip || skipsPgbouncer }, () => {
  const scene = suiteResource<Scene>(withScene);

  const newProject = async () =>
    (await createProject(scene.value.cluster.nodes.map(({ url }) => url))) as [Project, Project];

  test('readers of two processes miss no change, get none twice, and a replay gives what the API reads', async () => {
    const projects = await newProject();
    assert.ok((await proveChanges({ projects, seed, changes: CHANGES })) >= CHANGES);
    for (const project of projects) project.close();
  });

  test('the sessions of PgBouncer have neither settings nor prepared statements of Rollcall', () =>
    withClient(scene.value.pooledUrl, async (client) => {
      const names = Object.keys(DEFAULTS).map((name) => `current_setting('${name}') AS ${name}`);
      const { rows } = await client.query(`
        SELECT ${names.join(', ')}, (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
          pg_backend_pid() AS pid`);
      const [{ pid, ...state }] = rows;
      assert.deepEqual(state, { ...DEFAULTS, prepared: 0 });
      assert.notEqual(pid, (client as unknown as { processID: number }).processID, 'sessions are shared');
    }));

  test('an export through PgBouncer and its import through PgBouncer give the same records', () =>
    withDatabase(async (url) => {
      const [from, to] = await Promise.all([
        openPostgresStore({ url: scene.value.pooledUrl }),
        openPostgresStore({ url: scene.value.bouncer.urlOf(url) }),
      ]);
      await to.transfer.import(from.transfer.export());
      const [exported, imported] = await Promise.all(
        [from, to].map(async ({ transfer }) => (await Array.fromAsync(transfer.export())).flat()),
      );
      assert.deepEqual(imported, exported);
      await Promise.all([from.close(), to.close()]);
    }));

  test('writes while PgBouncer restarts are answered 200 or 503, and no acknowledged one is lost', async () => {
    const { bouncer } = scene.value;
    const projects = await newProject();
    const calls = projects.map(callOf) as [Call, Call];
    const lanes = (await createRegisters(calls[0], 2)).map((register) => new Lane(register));
    let isOver = false;
    const writing = lanes.map((lane, index) => lane.writePatiently(calls[index % 2] as Call, () => isOver));
    const allWrite = async (what: string) => {
      const before = lanes.map(({ acknowledged }) => acknowledged);
      const hasWritten = (lane: Lane, index: number) =>
        lane.acknowledged >= (before[index] as number) + ANSWERS_AFTER;
      await Promise.race([until(what, () => lanes.every(hasWritten)), Promise.all(writing)]);
    };
    await allWrite('writes before the restart');
    await bouncer.restart();
    await allWrite('writes after the restart');
    isOver = true;
    await Promise.all(writing);
    for (const call of calls) await Promise.all(lanes.map((lane) => lane.check(call)));
    for (const project of projects) project.close();
  });
});
