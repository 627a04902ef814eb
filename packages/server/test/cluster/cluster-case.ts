/** Rollcall processes on the PostgreSQL and the Redis of the tests: on a database and a key prefix of their own. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, startCluster } from '../../../../cluster/start-cluster.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { isRequired } from '../support/programs.ts';
import { Project } from '../support/project-client.ts';
import { freshRedisUrl } from '../support/redis.ts';
import { absentServers } from '../support/servers.ts';
import { suiteResource } from '../support/suite-resource.ts';

export const CUSTOMER = { id: 'acme', secret: 'the secret of acme' };

/** Processes with these settings print no secrets. */
export const KNOWN = {
  ROLLCALL_CUSTOMER_ID: CUSTOMER.id,
  ROLLCALL_CUSTOMER_SECRET: CUSTOMER.secret,
};

/** The output of a process is shown only where it failed: `error` and `fatal`, and lines that are not of the log. */
export const showFailures = (line: string, process: number): void => {
  if (/^\{"level":(?:50|60)|^rollcall: /.test(line)) console.error(`process ${process}: ${line}`);
};

/** Why tests of several processes are skipped, or false: where their servers are required, absence fails the tests. */
export const skip =
  isRequired('postgres') || isRequired('redis') ? false : (await absentServers()).join('; ') || false;

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
  const projects: Project[] = [];
  const closeProjects = () => {
    for (const project of projects) project.close();
  };
  const resource = suiteResource<{ cluster: Cluster; servers: SharedServers }>(
    (use) =>
      withSharedServers(async (servers) => {
        const all = { ...KNOWN, ...settings };
        const options = { processes, port: 0, ...servers, settings: all, onLine: showFailures };
        await using cluster = await startCluster(options);
        await use({ cluster, servers });
      }),
    closeProjects,
  );
  return {
    get running() {
      return resource.value.cluster;
    },
    get servers() {
      return resource.value.servers;
    },
    async project() {
      const urls = resource.value.cluster.nodes.map(({ url }) => url);
      const made = await createProject(urls);
      projects.push(...made);
      return made;
    },
  };
}

const customerToken = () => jwt({ customer_id: CUSTOMER.id, iat: seconds(Date.now()) }, CUSTOMER.secret);

export const customerHeaders = () => ({
  authorization: `Bearer ${customerToken()}`,
  'content-type': 'application/json',
});

/** The same new project, as it is reached at each of the URLs. */
export async function createProject(urls: readonly string[]): Promise<Project[]> {
  const [first, ...others] = urls;
  const project = await Project.create(first as string, customerToken());
  const { id, secret, token } = project;
  return [project, ...others.map((url) => new Project(url, id, secret, token))];
}

const POLL_MS = 20;

/** Checks that a change is effective within a second, as the contract promises. */
export async function withinASecond(what: string, isEffective: () => Promise<boolean>): Promise<void> {
  const changedAt = performance.now();
  for (;;) {
    const requestedAt = performance.now();
    if (await isEffective()) return;
    assert.ok(requestedAt - changedAt < 1_000, `${what}: not effective after a second`);
    await delay(POLL_MS);
  }
}
