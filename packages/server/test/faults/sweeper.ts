/**
 * A process that works on presence: it does what its parent says, and says what came of it. `set` puts users into groups;
 * `sweep` sweeps a second later each time, until it is ended.
 */
import process from 'node:process';
import type { PresenceUpdate } from '../../src/presence/presence-store.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';

export type Order =
  | { readonly kind: 'set'; readonly updates: readonly PresenceUpdate[] }
  | { readonly kind: 'sweep'; readonly from: number };

export type Word =
  | { readonly kind: 'ready' | 'set' }
  | { readonly kind: 'swept'; readonly now: number; readonly expired: readonly string[] };

const say = (word: Word) => void process.send?.(word);

const store = await openRedisPresence({ url: process.argv[2] as string });

process.on('message', async (order: Order) => {
  if (order.kind === 'set') {
    await Promise.all(order.updates.map((update) => store.set(update)));
    say({ kind: 'set' });
    return;
  }
  for (let now = order.from; ; now += 1_000) {
    const expired = (await store.sweep(now)).map(({ groupId, userId }) => `${groupId} ${userId}`);
    say({ kind: 'swept', now, expired });
  }
});
say({ kind: 'ready' });
