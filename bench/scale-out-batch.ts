/** The largest batch on PostgreSQL, beside a COPY of its rows. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPostgresStore } from '../packages/server/src/store/postgres/postgres-store.ts';
import { largeBatch, send } from './part-batch.ts';
import { type Child, canPin, freshDirectory, SERVER_CORE } from './processes.ts';
import { median, say, table, two, verdict, whole } from './report.ts';
import type { Place } from './scale-out-place.ts';

const BATCH_TARGET = 3;
const BATCH_ROUNDS = 3;

export async function scaleOutBatch(token: string, server: Child, place: Place): Promise<void> {
  say('### A batch of 10,000 users and 1,000 groups of 100 members on PostgreSQL');
  say();
  const file = join(freshDirectory(), 'batch.json');
  const times: { copy: number[]; first: number[]; again: number[] } = { copy: [], first: [], again: [] };
  for (let turn = -1; turn < BATCH_ROUNDS; turn += 1) {
    const content = largeBatch(turn + 1);
    const copy = await copied(await place.freshDatabase(), file, content);
    const first = await send(server, token, content);
    const again = await send(server, token, content);
    if (turn < 0) continue;
    times.copy.push(copy);
    times.first.push(first);
    times.again.push(again);
  }
  const ratio = median(times.first.map((first, round) => first / (times.copy[round] ?? Number.NaN)));
  const isFaster = median(times.again) < median(times.first);
  table(
    ['what', 'milliseconds', 'ratio', 'target', ''],
    [
      ['COPY of the same rows', whole(median(times.copy)), '', '', ''],
      [
        'batch over HTTP, everything new',
        whole(median(times.first)),
        two(ratio),
        `≤ ${two(BATCH_TARGET)}`,
        verdict(ratio <= BATCH_TARGET),
      ],
      [
        'the same batch again, nothing changed',
        whole(median(times.again)),
        two(median(times.again) / median(times.copy)),
        'faster than the first',
        verdict(isFaster),
      ],
    ],
  );
}

/** The tables are the store's own: it makes them. */
async function copied(url: string, file: string, content: object): Promise<number> {
  const store = await openPostgresStore({ url });
  await store.close();
  writeFileSync(file, JSON.stringify(content));
  const script = new URL('./bare-copy.ts', import.meta.url).pathname;
  const pinned = canPin ? ['taskset', '-c', String(SERVER_CORE)] : [];
  const command = [...pinned, process.execPath, script, url, file];
  const text = execFileSync(command[0] as string, command.slice(1), { encoding: 'utf8' });
  return (JSON.parse(text) as { milliseconds: number }).milliseconds;
}
