/**
 * The primary of a synchronous pair of PostgreSQLs is killed under load, and its standby is promoted. Three Rollcall processes reach
 * the pair in the three ways that there are: behind HAProxy, by a URL with both hosts, and behind PgBouncer and HAProxy.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { RollcallProcess } from '../../../../cluster/rollcall-process.ts';
import { startProcesses } from '../../../../cluster/start-cluster.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { proveChanges } from '../changes/change-proof.ts';
import { createProject, KNOWN, skip } from '../cluster/cluster-case.ts';
import { expectDone, expectError } from '../support/expect.ts';
import { skipsHaproxy, withHaproxy } from '../support/own-haproxy.ts';
import { skipsPgbouncer, withPgbouncer } from '../support/own-pgbouncer.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { withClient } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { freshRedisUrl } from '../support/redis.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { suiteResource } from '../support/suite-resource.ts';
import { until } from '../support/waiting.ts';
import { Lane } from './lane.ts';
import { type Call, callOf, createRegisters } from './register.ts';

const seed = Date.now() % 1_000_000;
const CHANGES = 3_000;
const ACKNOWLEDGED = 10;
/** From the promotion of the standby to writes of every process. */
const PROMOTED_MAX_MS = 10_000;
/** From the return of a server that was away to writes of every process. */
const RETURNED_MAX_MS = 5_000;
/** Nothing here must survive a crash of the machine. */
const SETTINGS = ['fsync=off', 'max_connections=120'];

interface Scene {
  readonly primary: OwnPostgres;
  readonly standby: OwnPostgres;
  /** The server to which HAProxy and PgBouncer lead. */
  readonly pooledUrl: string;
  readonly processes: readonly RollcallProcess[];
  /** What the processes logged above warnings. */
  readonly failures: string[];
}

const withHosts = (url: string, hosts: string) => url.replace(/127\.0\.0\.1:\d+/, hosts);

async function withScene(use: (scene: Scene) => Promise<void>): Promise<void> {
  await OwnPostgres.with(
    (primary) =>
      OwnPostgres.withSynchronousStandby(primary, (standby) =>
        withHaproxy([primary.port, standby.port], (balanced) => {
          const behindHaproxy = withHosts(primary.url, `127.0.0.1:${balanced}`);
          const both = withHosts(primary.url, `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`);
          return withPgbouncer(
            behindHaproxy,
            async (bouncer) => {
              const failures: string[] = [];
              const redisUrl = freshRedisUrl();
              const pooledUrl = bouncer.urlOf(behindHaproxy);
              const urls = [behindHaproxy, `${both}&target_session_attrs=read-write`, pooledUrl];
              const onLine = (line: string) => {
                if (/^\{"level":(?:50|60)|^rollcall: /.test(line)) failures.push(line);
              };
              const processes = urls.flatMap((databaseUrl) =>
                startProcesses({ processes: 1, databaseUrl, redisUrl, settings: KNOWN, onLine }),
              );
              try {
                await Promise.all(processes.map(({ listening }) => listening));
                await use({ primary, standby, pooledUrl, processes, failures });
              } finally {
                await Promise.all(processes.map((process) => process.end()));
              }
            },
            ['server_login_retry = 1'],
          );
        }),
      ),
    () => SETTINGS,
  );
}

async function isStandby(url: string): Promise<boolean> {
  const { rows } = await withClient(url, (client) =>
    client.query('SELECT pg_is_in_recovery() AS is_standby'),
  );
  return rows[0].is_standby;
}

/** Checks that a store cannot be opened at a standby, where reads would miss acknowledged writes. */
const assertNoStandby = (standby: OwnPostgres) =>
  assert.rejects(openPostgresStore({ url: standby.url }), (error: Error) => {
    assert.ok(error instanceof StoreUnavailableError);
    assert.match(error.message, /cannot be reached: it is a standby/);
    return true;
  });

/** Promotes the standby, and waits until every process writes again; prints how long each took. */
async function recover(standby: OwnPostgres, calls: readonly Call[], t: TestContext): Promise<void> {
  await standby.promote();
  const promotedAt = performance.now();
  const ways = ['HAProxy', 'both hosts', 'PgBouncer and HAProxy'];
  const recovering = calls.map(async (call, index) => {
    const writes = async () => (await call('PUT', `/v1/users/recovered-${index}`, {})).status === 200;
    await until(`writes by ${ways[index]}`, writes, PROMOTED_MAX_MS);
    t.diagnostic(`${ways[index]}: ${Math.round(performance.now() - promotedAt)} ms after the promotion`);
  });
  await Promise.all(recovering);
}

const skips = skip || skipsOwnPostgres || skipsHaproxy || skipsPgbouncer;

describe(`a failover of PostgreSQL under load, with the seed ${seed}`, { skip: skips }, () => {
  const scene = suiteResource<Scene>(withScene);

  test('while the synchronous standby is away, writes are answered 503 and reads go on, until it is back', async () => {
    const { standby, processes } = scene.value;
    const projects = await createProject(await Promise.all(processes.map(({ listening }) => listening)));
    await projects[0]?.seed({ users: [{ id: 'ada', name: 'before' }] });
    const nameOf = async (project: Project) => (await project.user('ada')).name;
    await standby.kill();
    const writing = projects.map((project) => project.put('/v1/users/ada', { name: 'after' }));
    for (const answer of await Promise.all(writing)) expectError(answer, 503, 'error');
    // What is not replicated yet is shown to no reader: it could be lost.
    for (const project of projects) assert.equal(await nameOf(project), 'before');
    await standby.start();
    for (const project of projects) {
      const writes = async () => (await project.put('/v1/users/ada', { name: 'after' })).status === 200;
      await until('writes go on', writes, RETURNED_MAX_MS);
    }
    for (const project of projects) assert.equal(await nameOf(project), 'after');
    for (const project of projects) project.close();
  });

  test('while the primary is frozen, requests are answered 503, and all acknowledged writes are there when it is back', async () => {
    const { primary, processes, failures } = scene.value;
    const projects = await createProject(await Promise.all(processes.map(({ listening }) => listening)));
    const calls = projects.map(callOf);
    const lanes = (await createRegisters(calls[0] as Call, 2)).map((register) => new Lane(register));
    let isOver = false;
    const writing = lanes.map((lane, index) =>
      lane.writePatiently(calls[index % calls.length] as Call, () => isOver),
    );
    const untilWritten = () => {
      const before = lanes.map(({ acknowledged }) => acknowledged);
      return until('acknowledged writes', () =>
        lanes.every((lane, index) => lane.acknowledged > (before[index] as number) + ACKNOWLEDGED),
      );
    };
    await untilWritten();
    primary.pause();
    try {
      const sent = projects.flatMap((project) => [
        project.put('/v1/users/ada', {}),
        project.get('/v1/users/ada'),
      ]);
      for (const answer of await Promise.all(sent)) expectError(answer, 503, 'error');
    } finally {
      primary.resume();
    }
    for (const project of projects) {
      const writes = async () => (await project.put('/v1/users/ada', {})).status === 200;
      await until('writes go on', writes, RETURNED_MAX_MS);
    }
    await untilWritten();
    isOver = true;
    await Promise.all(writing);
    for (const call of calls) await Promise.all(lanes.map((lane) => lane.check(call)));
    for (const line of failures) assert.match(line, /"StoreUnavailableError"/, line);
    for (const project of projects) project.close();
  });

  test('no acknowledged write is lost, readers miss no change and get none twice, and streams go on', async (t) => {
    const { primary, standby, pooledUrl, processes, failures } = scene.value;
    const urls = await Promise.all(processes.map(({ listening }) => listening));
    const followed = (await createProject(urls)) as [Project, ...Project[]];
    const written = await createProject(urls);
    const calls = written.map(callOf);
    const lanes = (await createRegisters(calls[0] as Call, 2)).map((register) => new Lane(register));
    await written[0]?.seedGroup('g', 'ada');
    const streams = await Promise.all(
      written.map((project) => StreamReader.open(project, '/v1/groups/g/presence')),
    );
    for (const stream of streams) await stream.snapshot();
    await assertNoStandby(standby);

    let isOver = false;
    const writing = lanes.map((lane, index) =>
      lane.writePatiently(calls[index % calls.length] as Call, () => isOver),
    );
    const failure = async () => {
      await until('acknowledged writes', () => lanes.every((lane) => lane.acknowledged > ACKNOWLEDGED));
      await primary.kill();
      await until('connections lead to the standby', () => isStandby(pooledUrl));
      for (const project of written) {
        expectError(await project.get('/v1/users/ada'), 503, 'error');
        assert.equal((await project.get('/readyz')).status, 503);
        expectError(await project.put('/v1/users/ada', {}), 503, 'error');
      }
      await recover(standby, calls, t);
      const before = lanes.map(({ acknowledged }) => acknowledged);
      await until('writes afterwards', () =>
        lanes.every((lane, index) => lane.acknowledged > (before[index] as number) + ACKNOWLEDGED),
      );
      isOver = true;
    };
    await Promise.all([proveChanges({ projects: followed, seed, changes: CHANGES, failure }), ...writing]);

    for (const call of calls) await Promise.all(lanes.map((lane) => lane.check(call)));
    for (const [index, project] of written.entries()) {
      await new Presence(project).set('ada', { page: `${index}` });
    }
    // Membership is read from PostgreSQL: its end shows in the streams of all processes.
    expectDone(
      await (written[0] as Project).send('POST', '/v1/groups/g/members', JSON.stringify({ remove: ['ada'] })),
    );
    for (const stream of streams) {
      await stream.until('the departure', () => stream.of('departed').length > 0);
      assert.equal(stream.of('arrived').length > 0, true);
      assert.equal(stream.hasEnded, false);
    }
    for (const line of failures) assert.match(line, /"StoreUnavailableError"/, line);
    for (const stream of streams) stream.close();
    for (const project of [...followed, ...written]) project.close();
  });
});
