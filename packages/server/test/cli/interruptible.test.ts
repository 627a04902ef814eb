/** The items of a long command, one after the other, until its signal. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { interruptible } from '../../src/cli/interruption.ts';
import { NODES } from '../packages/nodes.ts';

const STORED_MAX_BYTES = 25_000_000;

describe('the items of an interruptible command', () => {
  // Versions of Node differ in what a promise holds that was raced with others.
  for (const { version, node, skip } of NODES) {
    test(`items of an interruptible command are not stored once they are read, on Node ${version}`, {
      skip,
    }, () => {
      const script = fileURLToPath(new URL('stored-items.ts', import.meta.url));
      const stored = Number(execFileSync(node, [script], { encoding: 'utf8' }));
      assert.ok(stored < STORED_MAX_BYTES, `${stored} bytes`);
    });
  }

  test('an interruptible command ends with the reason of its signal, also while its source waits', async () => {
    const controller = new AbortController();
    const items = interruptible(
      (async function* () {
        yield 1;
        await new Promise(() => {});
      })(),
      controller.signal,
    );
    assert.equal((await items.next()).value, 1);
    const next = items.next();
    controller.abort(new Error('the reason'));
    await assert.rejects(next, /the reason/);
    assert.equal((await items.next()).done, true);
  });
});
