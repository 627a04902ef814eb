/**
 * Prints how many bytes of heap one ephemeral presence takes: everybody at a place of their own, as an editor with a
 * cursor in each paragraph would have it. Run with --expose-gc. Argument: how many presences.
 */

import { canonicalLocation } from '../packages/protocol/src/index.ts';
import { createMemoryPresence } from '../packages/server/src/presence/memory/memory-presence.ts';
import { userId } from './dataset.ts';

const count = Number(process.argv[2]);
const collect = globalThis.gc as () => void;
const presence = createMemoryPresence();
const used = () => {
  collect();
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
};

const before = used();
const now = Date.now();
for (let index = 0; index < count; index += 1) {
  // Parsed from text, as a request's body is, so that nothing is shared by accident.
  const { location, exclusiveWithin, user } = JSON.parse(
    JSON.stringify({
      user: userId(index),
      location: { page: `page-${index % 1_000}`, paragraph: `paragraph-${index}` },
      exclusiveWithin: { page: `page-${index % 1_000}` },
    }),
  );
  await presence.set({
    project: 1,
    groupId: `group-${index % 100}`,
    userId: user,
    incarnation: index,
    region: canonicalLocation(exclusiveWithin),
    location: canonicalLocation(location),
    expiresAt: now + 30_000 + (index % 10_000),
    now,
  });
}
console.log(JSON.stringify({ bytes: (used() - before) / count }));
await presence.close();
