/** The thread that writes the store dies: the process logs it and ends, and no acknowledged write is lost. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { KNOWN, type Request, withRequests, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { KILLER, putFile } from './killer-file.ts';

const CALLERS = 8;
const ANSWERS_BEFORE = 150;

/** A caller who writes one number after the other into a group's name. */
class Caller {
  readonly #path: string;
  acknowledged = 0;

  constructor(index: number) {
    this.#path = `/v1/groups/g${index}`;
  }

  async write(request: Request, onAnswer: () => void): Promise<void> {
    for (;;) {
      const answer = await request('PUT', this.#path, { name: `${this.acknowledged + 1}` }).catch(() => null);
      if (answer === null) return;
      if (answer.status !== 200) {
        assert.deepEqual([answer.status, answer.json<{ error: string }>().error], [503, 'error']);
        continue;
      }
      this.acknowledged += 1;
      onAnswer();
    }
  }

  /** Checks that the group has the last acknowledged name, or the one in flight. */
  async check(request: Request): Promise<void> {
    const answer = await request('GET', this.#path);
    const found = Number(answer.json<{ name: string }>().name);
    assert.ok(
      found === this.acknowledged || found === this.acknowledged + 1,
      `${this.#path}: ${found} is stored, ${this.acknowledged} was acknowledged`,
    );
  }
}

describe('a server whose writer dies', () => {
  for (const [how, way] of [
    ['by an error', 'throw'],
    ['without an error', 'exit'],
  ] as const) {
    test(`a server whose writer dies ${how} ends with one line, and loses no acknowledged write`, () =>
      withDataDir(async (dataDir) => {
        const killerFile = join(dataDir, 'kill');
        // Only the writer gets the file of the store.
        const killer = { THREAD_KILLER_WORKER_DATA_KEY: 'file', THREAD_KILLER_FILE: killerFile };
        const env = { NODE_OPTIONS: `--import=${KILLER}`, ...killer };
        const callers = Array.from({ length: CALLERS }, (_, index) => new Caller(index));
        let answers = 0;
        const onAnswer = () => {
          answers += 1;
          if (answers === ANSWERS_BEFORE) putFile(killerFile, way);
        };
        await withServe(
          dataDir,
          KNOWN,
          async ({ url, process: server }) => {
            await withRequests(url, (request) =>
              Promise.all(callers.map((caller) => caller.write(request, onAnswer))),
            );
            const { code, signal, stdout } = await server.ended;
            assert.deepEqual([code, signal], [1, null]);
            const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
            assert.equal(last.level, 60, 'the last line is fatal');
            assert.match(last.err.message, /the thread that writes the store has died/);
            assert.match(last.err.stack, way === 'throw' ? /ended by the test/ : /the writer has ended/);
          },
          { env },
        );
        assert.ok(answers >= ANSWERS_BEFORE);
        await withServe(dataDir, KNOWN, ({ url }) =>
          withRequests(url, (request) => Promise.all(callers.map((caller) => caller.check(request)))),
        );
      }));
  }
});
