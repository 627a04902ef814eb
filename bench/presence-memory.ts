/**
 * Prints how many bytes of heap one ephemeral presence takes: every user is at a location of their own, as in an editor
 * with a cursor in each paragraph. Argument: how many presences.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { canonicalLocation } from '../packages/protocol/src/index.ts';
import { createMemoryPresence } from '../packages/server/src/presence/memory/memory-presence.ts';
import { userId } from './dataset.ts';

const count = Number(process.argv[2]);
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const presence = createMemoryPresence();
const used = () => {
  collect();
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
};

// The dataset remembers its IDs: they are made before the measurement.
for (let index = 0; index < count; index += 1) userId(index);
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
