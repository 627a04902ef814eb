import { type Threads, threadsOf } from './conversation-dataset.ts';
import { type Engine, startFilled } from './conversation-engines.ts';
import { postMessage } from './conversation-operations.ts';
import { randomNumbers, SMALL } from './dataset.ts';
import { pause } from './event-stream.ts';
import { CONNECTIONS, type Pace } from './measure.ts';
import { discardRequests, load } from './processes.ts';
import { print, table, verdict, whole } from './report.ts';

const KIBIBYTE = 1_024;
const TARGET = 2.5 * KIBIBYTE;
const THREADS: Threads = threadsOf({ threads: SMALL.groups, messages: SMALL.groups });
const REQUESTS = 20_000;
/** After so long without a write the embedded engine has emptied its log. */
const SETTLED_MS = 5_000;
/**
 * After each round PostgreSQL is vacuumed, as autovacuum would: later rounds use the space of earlier rows of threads and lists. What a
 * message costs in the long run is the mean of the rounds.
 */
const ROUNDS = 6;

/** The disk space that messages of 1 KiB add, posted to 1,000 threads in scattered order, with everything that belongs to them. */
export async function diskTable({ seconds }: Pace, engine: Engine): Promise<void> {
  print(`### Disk space of messages of 1 KiB on ${engine.name}`);
  print();
  await using filled = await startFilled(engine, [THREADS]);
  await pause(SETTLED_MS);
  const before = await filled.store.bytes();
  const numbers = randomNumbers(THREADS.threads, 7);
  const requests = Array.from({ length: REQUESTS }, (_, step) =>
    // The JSON around the text has 44 characters.
    postMessage(filled, numbers.next().value, `${step} `.padEnd(KIBIBYTE - 44, 'a message of 1 KiB ')),
  );
  let answers = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const loaded = await load('POST message of 1 KiB', {
      ...{ port: filled.server.port, connections: CONNECTIONS, seconds: seconds * 2 },
      ...{ awake: engine.isEmbedded, requests },
    });
    answers += loaded.answers;
    await filled.store.vacuum();
  }
  discardRequests(requests);
  await pause(SETTLED_MS);
  const bytes = ((await filled.store.bytes()) - before) / answers;
  table(
    ['messages', 'bytes each', 'target', ''],
    [[whole(answers), whole(bytes), `≤ ${whole(TARGET)}`, verdict(bytes <= TARGET)]],
  );
}
