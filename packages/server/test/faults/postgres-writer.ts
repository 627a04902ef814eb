/** A process that opens the store and writes to it until it cannot, printing what was acknowledged. */

import process from 'node:process';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { BY_TEST } from '../support/origin.ts';

const [url = '', key = '', lanes = '0'] = process.argv.slice(2);
const store = await openPostgresStore({ url });
process.stdout.write('open\n');

/** Each batch numbers a user and a group of the lane, and puts the one into the other: all of it or nothing. */
async function write(lane: number): Promise<void> {
  for (let number = 1; ; number += 1) {
    const name = `${number}`;
    const batch = {
      users: [{ id: `u${lane}`, name }],
      groups: [{ id: `g${lane}`, name, members: number % 2 === 0 ? [`u${lane}`] : [] }],
    };
    const stamp = { now: number, revision: `${lane}-${number}`, ...BY_TEST };
    await store.batches.apply(key, { body: Buffer.from(JSON.stringify(batch)), dryRun: false }, stamp);
    process.stdout.write(`${lane} ${number}\n`);
  }
}

await Promise.allSettled(Array.from({ length: Number(lanes) }, (_, lane) => write(lane)));
await store.close();
