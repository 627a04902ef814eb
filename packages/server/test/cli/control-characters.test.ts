/** Texts of files, stores and servers reach a terminal without control characters: those could clear it, or forge lines. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { runCli } from '../roster/roster-cli.ts';
import { withDataDir } from '../support/server.ts';
import { rollcall } from './cli-process.ts';
import { embedded, makeSmallStore, withOpenStore } from './stores.ts';

const ESCAPE = '\u001b[2J\u009b31m\u202e\r\nrollcall: forged';
const SHOWN = '\\u001b[2J\\u009b31m\\u202e\\r\\nrollcall: forged';

/** Expects one line that shows the characters, and has none of them. */
function expectShown(stderr: string, lines = 1, shown = SHOWN): void {
  assert.ok(stderr.includes(shown), JSON.stringify(stderr));
  assert.equal(/[\p{Cc}\u202e]/u.test(stderr.replaceAll('\n', '')), false, JSON.stringify(stderr));
  assert.equal(stderr.trimEnd().split('\n').length, lines, stderr);
}

describe('control characters in messages of commands', () => {
  test('the name of a file is an error with its control characters escaped', async () => {
    for (const command of ['restore', 'sync']) expectShown((await rollcall([command, ESCAPE])).stderr);
  });

  test('an unknown command and an unknown option are errors with their control characters escaped', async () => {
    const [word, shown] = [ESCAPE.replace('\n', ''), SHOWN.replace('\\n', '')];
    expectShown((await rollcall([word])).stderr, 2, shown);
    expectShown((await rollcall(['token', `--${word}`])).stderr, 2, shown);
  });

  test('an error of a server is printed with its control characters escaped, also where a line is rejected', async () => {
    const answers = [
      { status: 400, body: { error: 'invalid_field', message: ESCAPE } },
      { status: 403, body: { error: ESCAPE, message: ESCAPE } },
    ];
    for (const { status, body } of answers) {
      await using server = createServer((_, response) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const args = ['sync', '-', '--url', url, '--token', 'x.y.z'];
      const { code, stderr } = await runCli(args, { input: '{"type":"user","id":"u"}' });
      assert.equal(code, 1);
      expectShown(stderr, status === 400 ? 2 : 1);
    }
  });

  test('a name with control characters is escaped in a table, and is itself in JSON', () =>
    withDataDir(async (dataDir) => {
      await makeSmallStore(embedded(dataDir));
      await withOpenStore(embedded(dataDir), (store) =>
        store.customers.create({ id: 'd', secret: 'secret of d', name: ESCAPE, createdAt: 1 }),
      );
      const list = ['customer', 'list', '--data-dir', dataDir];
      expectShown((await rollcall(list)).stdout, 3);
      const [, { name }] = JSON.parse((await rollcall([...list, '--json'])).stdout);
      assert.equal(name, ESCAPE);
    }));
});
