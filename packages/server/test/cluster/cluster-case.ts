/** Rollcall processes on the PostgreSQL and the Redis of the tests: on a database and a key prefix of their own. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { after, before } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, startCluster } from '../../../../cluster/start-cluster.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { Project } from '../support/project-client.ts';
import { freshRedisUrl } from '../support/redis.ts';
import { absentServers } from '../support/servers.ts';

export const CUSTOMER = { id: 'acme', secret: 'the secret of acme' };

/** Processes that are told these have nothing to announce. */
export const KNOWN = {
  ROLLCALL_CUSTOMER_ID: CUSTOMER.id,
  ROLLCALL_CUSTOMER_SECRET: CUSTOMER.secret,
};

/** What a process prints is shown only where it failed: `error` and `fatal`, and what is no log line. */
export const showFailures = (line: string, process: number): void => {
  if (/^\{"level":(?:50|60)|^rollcall: /.test(line)) console.error(`process ${process}: ${line}`);
};

const isRequired = /postgres|redis/.test(process.env.ROLLCALL_TEST_REQUIRE ?? '');

/** Why tests of several processes are skipped, or false: where their servers are required, absence fails the tests. */
export const skip = isRequired ? false : (await absentServers()).join('; ') || false;

/** The servers that processes are to share. */
export interface SharedServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/** An empty database and an empty Redis, for as long as `use` runs. */
export async function withSharedServers<Result>(
  use: (servers: SharedServers) => Promise<Result>,
): Promise<Result> {
  const { createDatabase, dropDatabase } = await import('../support/postgres.ts');
  const name = `rollcall_test_cluster_${randomBytes(6).toString('hex')}`;
  const databaseUrl = await createDatabase(name);
  try {
    return await use({ databaseUrl, redisUrl: freshRedisUrl() });
  } finally {
    await dropDatabase(name);
  }
}

export interface OneCluster {
  readonly running: Cluster;
  readonly servers: SharedServers;
  /** Makes a project, and gives a host's view of it through each of the processes. */
  project(): Promise<Project[]>;
}

/** Starts a cluster before the tests of the calling suite, and stops it after them. */
export function oneCluster(processes: number, settings: Readonly<Record<string, string>> = {}): OneCluster {
  const started = Promise.withResolvers<{ cluster: Cluster; servers: SharedServers }>();
  const finished = Promise.withResolvers<void>();
  const projects: Project[] = [];
  let now: { cluster: Cluster; servers: SharedServers } | undefined;
  let bracket: Promise<void>;
  before(async () => {
    bracket = withSharedServers(async (servers) => {
      const all = { ...KNOWN, ...settings };
      const options = { processes, port: 0, ...servers, settings: all, onLine: showFailures };
      await using cluster = await startCluster(options);
      started.resolve({ cluster, servers });
      await finished.promise;
    });
    bracket.catch(started.reject);
    now = await started.promise;
  });
  after(async () => {
    for (const project of projects) project.close();
    finished.resolve();
    await bracket;
  });
  const current = () => {
    assert.ok(now !== undefined, 'the cluster has not been started yet');
    return now;
  };
  return {
    get running() {
      return current().cluster;
    },
    get servers() {
      return current().servers;
    },
    async project() {
      const urls = current().cluster.nodes.map(({ url }) => url);
      const made = await createProject(urls);
      projects.push(...made);
      return made;
    },
  };
}

export const customerHeaders = () => ({
  authorization: `Bearer ${jwt({ customer_id: CUSTOMER.id, iat: seconds(Date.now()) }, CUSTOMER.secret)}`,
  'content-type': 'application/json',
});

/** The same new project, as it is reached at each of the URLs. */
export async function createProject(urls: readonly string[]): Promise<Project[]> {
  const answer = await send(urls[0] as string, 'POST', '/v1/projects', {
    headers: customerHeaders(),
    body: JSON.stringify({ name: 'one of the tests' }),
  });
  assert.equal(answer.status, 201, answer.text);
  const { id, secret } = answer.json<{ id: string; secret: string }>();
  const token = jwt({ project_id: id, iat: seconds(Date.now()) }, secret);
  return urls.map((url) => new Project(url, id, secret, token));
}

const POLL_MS = 20;

/** Holds a change to what the contract promises: whoever asks a second later, or after that, meets it. */
export async function withinASecond(what: string, isEffective: () => Promise<boolean>): Promise<void> {
  const changedAt = performance.now();
  for (;;) {
    const askedAt = performance.now();
    if (await isEffective()) return;
    assert.ok(askedAt - changedAt < 1_000, `${what}: not effective after a second`);
    await delay(POLL_MS);
  }
}

/** Waits for what happens by itself; fails where it has not within the time. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  for (const end = performance.now() + limitMs; !(await holds()); await delay(POLL_MS)) {
    assert.ok(performance.now() < end, `waited for: ${what}`);
  }
}
