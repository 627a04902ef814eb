import { filterStreamsBytes } from './filter-streams.ts';
import type { Pace } from './measure.ts';
import { residentBytes } from './process-usage.ts';
import { runAlone, startRollcall } from './processes.ts';
import { figures, print, verdict, whole } from './report.ts';

const IDLE_TARGET = 120 * 1_024 ** 2;
const PRESENCE_TARGET = 500;
const PRESENT = 100_000;
const FILTERS = 500;
const FILTERED_USERS = 1_000;
const FILTERS_TARGET = 150 * 1_024 ** 2;

/** Resident memory of an idle server, what one ephemeral presence adds to it, and what streams with many filters add. */
export async function memoryPart(_pace: Pace): Promise<void> {
  print('### Memory');
  print();
  const idle = await idleBytes();
  const presence = presenceBytes();
  const filters = await filterStreamsBytes(FILTERS, FILTERED_USERS);
  const megabytes = (bytes: number) => `${(bytes / 1_024 ** 2).toFixed(1)} MB`;
  figures([
    ['idle server, resident', megabytes(idle), `≤ ${megabytes(IDLE_TARGET)}`, verdict(idle <= IDLE_TARGET)],
    [
      `one of ${whole(PRESENT)} ephemeral presences, heap`,
      `${whole(presence)} bytes`,
      `≤ ${PRESENCE_TARGET} bytes`,
      verdict(presence <= PRESENCE_TARGET),
    ],
    [
      `${whole(FILTERS)} streams, each with a filter that shows all ${whole(FILTERED_USERS)} users of a group, resident`,
      megabytes(filters),
      `≤ ${megabytes(FILTERS_TARGET)}`,
      verdict(filters <= FILTERS_TARGET),
    ],
  ]);
}

/** The product as `npm start` runs it, a few seconds after it began to listen. */
async function idleBytes(): Promise<number> {
  await using server = await startRollcall();
  await fetch(`http://127.0.0.1:${server.port}/healthz`);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const bytes = residentBytes(server.pid);
  return bytes;
}

function presenceBytes(): number {
  return runAlone<{ bytes: number }>('presence-memory.ts', String(PRESENT)).bytes;
}
