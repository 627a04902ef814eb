/** A Redis Cluster for one test: three masters, and a replica of the first. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { OwnRedis, redisCli } from './own-redis.ts';
import { until } from './waiting.ts';

const CLUSTER_OPTIONS = [...['--cluster-enabled', 'yes'], ...['--repl-diskless-sync-delay', '0']];

/** A node that gets no processor for some time has not failed. */
const NODE_TIMEOUT_MS = 120_000;
/** For tests in which a node fails: its replica takes over a little later. */
export const SHORT_NODE_TIMEOUT_MS = 2_000;

export interface OwnCluster {
  readonly masters: readonly OwnRedis[];
  readonly replica: OwnRedis;
  /** The URL names all masters. */
  readonly url: string;
}

/** @param nodeTimeoutMs after how long a silent node has failed */
export async function startCluster(nodeTimeoutMs = NODE_TIMEOUT_MS): Promise<OwnCluster> {
  const node = () => OwnRedis.start(...CLUSTER_OPTIONS, '--cluster-node-timeout', `${nodeTimeoutMs}`);
  const [replica, ...masters] = await Promise.all([node(), node(), node(), node()]);
  const first = masters[0] as OwnRedis;
  const hosts = masters.map(({ port }) => `127.0.0.1:${port}`);
  await cli('--cluster', 'create', ...hosts, '--cluster-yes');
  await until('the cluster is up', () => isUp([...masters]));
  await replica.command('CLUSTER', 'MEET', '127.0.0.1', `${first.port}`);
  const id = await idOf(first);
  await until('the replica knows its master', async () => {
    return (await replica.command('CLUSTER', 'REPLICATE', id)) === 'OK';
  });
  await until('the replica follows', async () => {
    return /master_link_status:up/.test((await replica.command('INFO', 'replication')) as string);
  });
  await until('all masters know the replica', async () => {
    const lists = await Promise.all(masters.map((node) => node.command('CLUSTER', 'REPLICAS', id)));
    return lists.every((list) => (list as string[]).length === 1) && isUp([...masters, replica]);
  });
  return { masters, replica, url: `redis://${hosts.join(',')}` };
}

/** Makes a replica the master, while its master is alive. */
export async function takeOver(replica: OwnRedis): Promise<void> {
  // The command is rejected until the previous take-over is known everywhere.
  await until('the take-over begins', async () => (await replica.command('CLUSTER', 'FAILOVER')) === 'OK');
  await until('it is the master', async () => {
    return /^role:master/m.test((await replica.command('INFO', 'replication')) as string);
  });
}

/** Moves a slot with all of its keys to another master, one key at a time. */
export async function moveSlot(slot: number, from: OwnRedis, to: OwnRedis, others: readonly OwnRedis[]) {
  await openSlot(slot, from, to);
  await moveKeys(slot, from, to);
  await closeSlot(slot, to, [from, ...others]);
}

/** Begins to move a slot. Until it is closed, its keys are on two masters. */
export async function openSlot(slot: number, from: OwnRedis, to: OwnRedis): Promise<void> {
  await to.command('CLUSTER', 'SETSLOT', `${slot}`, 'IMPORTING', await idOf(from));
  await from.command('CLUSTER', 'SETSLOT', `${slot}`, 'MIGRATING', await idOf(to));
}

/** Moves up to `count` keys of an open slot. */
export async function moveKeys(slot: number, from: OwnRedis, to: OwnRedis, count = Infinity): Promise<void> {
  for (let moved = 0; moved < count; moved += 1) {
    const [key] = (await from.command('CLUSTER', 'GETKEYSINSLOT', `${slot}`, '1')) as string[];
    if (key === undefined) return;
    await from.command('MIGRATE', '127.0.0.1', `${to.port}`, key, '0', '5000');
  }
}

/** Assigns the slot to the new master on all nodes. The new master is first, so the slot always has one. */
export async function closeSlot(slot: number, to: OwnRedis, others: readonly OwnRedis[]): Promise<void> {
  const id = await idOf(to);
  for (const node of [to, ...others]) await node.command('CLUSTER', 'SETSLOT', `${slot}`, 'NODE', id);
}

const idOf = async (node: OwnRedis) => (await node.command('CLUSTER', 'MYID')) as string;

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
