/**
 * A process that works on presence by the orders of its parent, and reports the results. `set` sets users present;
 * `sweep` sweeps again and again, each time a second later, until the process is killed.
 */
import process from 'node:process';
import type { PresenceUpdate } from '../../src/presence/presence-store.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';

export type Order =
  | { readonly kind: 'set'; readonly updates: readonly PresenceUpdate[] }
  | { readonly kind: 'sweep'; readonly from: number };

export type Report =
  | { readonly kind: 'ready' | 'set' }
  | { readonly kind: 'swept'; readonly now: number; readonly expired: readonly string[] };

const report = (message: Report) => void process.send?.(message);

const store = await openRedisPresence({ url: process.argv[2] as string });

process.on('message', async (order: Order) => {
  if (order.kind === 'set') {
    await Promise.all(order.updates.map((update) => store.set(update)));
    report({ kind: 'set' });
    return;
  }
  for (let now = order.from; ; now += 1_000) {
    const expired = (await store.sweep(now)).map(({ groupId, userId }) => `${groupId} ${userId}`);
    report({ kind: 'swept', now, expired });
  }
});
report({ kind: 'ready' });
