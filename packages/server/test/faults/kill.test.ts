/** A kill -9 loses no acknowledged write, and stores no write in part. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { KNOWN, type ServeProcess, withRequests, withServe } from '../cli/cli-process.ts';
import { Random } from '../sim/random.ts';
import { withDataDir } from '../support/server.ts';
import { Lane } from './lane.ts';
import { createRegisters } from './register.ts';

/** The seed chooses the moments of the kills. A failure prints it; ROLLCALL_TEST_SEED sets another. */
const SEED = Number(process.env.ROLLCALL_TEST_SEED ?? 1);
const ROUNDS = 5;
/** Registers of each kind; all of them are being written at any time. */
const COPIES = 5;
const MOST_ANSWERS = 400;

/** Writes all registers at once, and kills the server as soon as so many answers have come. */
async function writeUntilKilled(
  server: ServeProcess,
  lanes: readonly Lane[],
  answers: number,
): Promise<void> {
  let left = answers;
  const onAnswer = () => {
    left -= 1;
    if (left === 0) server.process.signal('SIGKILL');
  };
  await withRequests(server.url, (call) => Promise.all(lanes.map((lane) => lane.write(call, onAnswer))));
  assert.equal((await server.process.ended).signal, 'SIGKILL');
}

/** Beside the running server, which has recovered the file by then. */
function assertIntact(dataDir: string): void {
  using database = new DatabaseSync(join(dataDir, STORE_FILE), { readOnly: true });
  const found = database.prepare('PRAGMA integrity_check').all().flatMap(Object.values);
  assert.deepEqual(found, ['ok']);
}

describe('a server that is killed while it writes', () => {
  test(`a server that is killed while it writes loses no acknowledged write and stores no write in part (seed ${SEED})`, () =>
    withDataDir(async (dataDir) => {
      const random = new Random(SEED);
      const lanes: Lane[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const answers = 1 + random.below(MOST_ANSWERS);
        await withServe(dataDir, KNOWN, async (server) => {
          await withRequests(server.url, async (call) => {
            if (round === 0)
              lanes.push(...(await createRegisters(call, COPIES)).map((made) => new Lane(made)));
            await Promise.all(lanes.map((lane) => lane.check(call)));
          });
          assertIntact(dataDir);
          await writeUntilKilled(server, lanes, answers);
        });
      }
      await withServe(dataDir, KNOWN, async (server) => {
        await withRequests(server.url, async (call) => {
          await Promise.all(lanes.map((lane) => lane.check(call)));
        });
        assertIntact(dataDir);
      });
    }));
});
