/** Nothing acknowledged is lost by a kill -9, and nothing is there by half. */
import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { KNOWN, PROJECT, type ServeProcess, withServe } from '../cli/cli-process.ts';
import { Random } from '../sim/random.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { withDataDir } from '../support/server.ts';
import { Lane } from './lane.ts';
import { type Call, createRegisters } from './register.ts';

/** Where the kills fall. The seed of a failure is in its message; ROLLCALL_TEST_SEED runs another. */
const SEED = Number(process.env.ROLLCALL_TEST_SEED ?? 1);
const ROUNDS = 5;
/** Registers of each kind; all of them are being written at any time. */
const COPIES = 5;
const MOST_ANSWERS = 400;

/** A client of the server, whose connections end with it. */
async function withCalls<Result>(
  { url }: ServeProcess,
  use: (call: Call) => Promise<Result>,
): Promise<Result> {
  const agent = new Agent({ keepAlive: true });
  const token = jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, PROJECT.secret);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  try {
    return await use((method, path, body) =>
      send(url, method, path, {
        headers,
        agent,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
  } finally {
    agent.destroy();
  }
}

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
  await withCalls(server, (call) => Promise.all(lanes.map((lane) => lane.write(call, onAnswer))));
  assert.equal((await server.process.ended).signal, 'SIGKILL');
}

/** Beside the running server, which has recovered the file by then. */
function assertIntact(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, STORE_FILE), { readOnly: true });
  try {
    const found = database.prepare('PRAGMA integrity_check').all().flatMap(Object.values);
    assert.deepEqual(found, ['ok']);
  } finally {
    database.close();
  }
}

describe('a server that is killed while it writes', () => {
  test(`has lost nothing that it acknowledged and keeps no write in part (seed ${SEED})`, () =>
    withDataDir(undefined, async (dataDir) => {
      const random = new Random(SEED);
      const lanes: Lane[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const answers = 1 + random.below(MOST_ANSWERS);
        await withServe(dataDir, KNOWN, async (server) => {
          await withCalls(server, async (call) => {
            if (round === 0)
              lanes.push(...(await createRegisters(call, COPIES)).map((made) => new Lane(made)));
            await Promise.all(lanes.map((lane) => lane.check(call)));
          });
          assertIntact(dataDir);
          await writeUntilKilled(server, lanes, answers);
        });
      }
      await withServe(dataDir, KNOWN, async (server) => {
        await withCalls(server, async (call) => {
          await Promise.all(lanes.map((lane) => lane.check(call)));
        });
        assertIntact(dataDir);
      });
    }));
});
