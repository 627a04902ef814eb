/** A Redis Cluster of a test's own: three masters, and a replica of the first. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { OwnRedis, redisCli, until } from './own-redis.ts';

const CLUSTER_OPTIONS = [
  ...['--cluster-enabled', 'yes'],
  ...['--cluster-node-timeout', '1000'],
  ...['--repl-diskless-sync-delay', '0'],
];

export interface OwnCluster {
  readonly masters: readonly OwnRedis[];
  readonly replica: OwnRedis;
  /** Any node leads to the others. */
  readonly url: string;
}

export async function startCluster(): Promise<OwnCluster> {
  const node = () => OwnRedis.start(...CLUSTER_OPTIONS);
  const [replica, ...masters] = await Promise.all([node(), node(), node(), node()]);
  const first = masters[0] as OwnRedis;
  const hosts = masters.map(({ port }) => `127.0.0.1:${port}`);
  await cli('--cluster', 'create', ...hosts, '--cluster-yes');
  await until('the cluster is up', () => isUp([...masters]));
  await replica.command('CLUSTER', 'MEET', '127.0.0.1', `${first.port}`);
  const id = (await first.command('CLUSTER', 'MYID')) as string;
  await until('the replica knows its master', async () => {
    return (await replica.command('CLUSTER', 'REPLICATE', id)) === 'OK';
  });
  await until('the replica follows', async () => {
    return /master_link_status:up/.test((await replica.command('INFO', 'replication')) as string);
  });
  await until('everybody knows the replica', () => isUp([...masters, replica]));
  return { masters, replica, url: `redis://${hosts.join(',')}` };
}

async function isUp(nodes: readonly OwnRedis[]): Promise<boolean> {
  const states = await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO')));
  const known = new RegExp(`cluster_known_nodes:${nodes.length}`);
  return states.every((state) => /cluster_state:ok/.test(state as string) && known.test(state as string));
}

async function cli(...args: string[]): Promise<void> {
  const child = spawn(redisCli, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${redisCli} ${args.join(' ')} failed`);
}
