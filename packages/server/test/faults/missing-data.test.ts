/** A start on files of the embedded store that have lost their data. */
import assert from 'node:assert/strict';
import { readdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CUSTOMER, KNOWN, PROJECT, rollcall, withServe } from '../cli/cli-process.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { withDataDir } from '../support/server.ts';
import { named, stop, withUser } from './stored-user.ts';

describe('a start on a directory from which data is missing', () => {
  const losses: [string, (dataDir: string) => void, RegExp][] = [
    [
      'an empty database beside the lock file',
      (dataDir) => truncateSync(named(dataDir)(''), 0),
      /the file is empty/,
    ],
    [
      'an empty database beside its log',
      (dataDir) => {
        truncateSync(named(dataDir)(''), 0);
        writeFileSync(named(dataDir)('-wal'), 'x'.repeat(10_000));
      },
      /the file is empty/,
    ],
    [
      'a log without its database',
      (dataDir) => renameSync(named(dataDir)(''), named(dataDir)('-wal')),
      /it is missing beside rollcall\.db-wal/,
    ],
  ];
  for (const [title, lose, line] of losses) {
    test(`${title}: the start ends with one line and exit code 1, changes nothing, and rollcall doctor reports it`, () =>
      withDataDir(async (dataDir) => {
        await withUser(dataDir, stop);
        lose(dataDir);
        const before = describeFiles(dataDir);
        for (const command of [
          ['serve', '--port', '0'],
          ['token', '--project', PROJECT.id],
        ]) {
          const { code, stderr } = await rollcall([...command, '--data-dir', dataDir]);
          assert.equal(code, 1);
          assert.match(stderr, /^rollcall: the store [^\n]+ cannot be opened: [^\n]+\n$/);
          assert.match(stderr, line);
        }
        const doctor = await rollcall(['doctor', '--data-dir', dataDir], { env: { ROLLCALL_PORT: '1' } });
        assert.equal(doctor.code, 1);
        assert.match(doctor.stdout, /^failed {3}store: /m);
        assert.deepEqual(describeFiles(dataDir), before);
      }));
  }

  test('a first start that was killed can be repeated', () =>
    withDataDir(async (dataDir) => {
      // The files that such a start leaves: the lock file, and a database that was not yet renamed.
      writeFileSync(join(dataDir, 'serve.lock'), '', { mode: 0o600 });
      writeFileSync(join(dataDir, 'rollcall.db.new-1'), '');
      await withServe(dataDir, KNOWN, async ({ url }) => {
        const token = jwt({ customer_id: CUSTOMER.id, iat: seconds(Date.now()) }, CUSTOMER.secret);
        const answer = await send(url, 'GET', '/v1/projects', {
          headers: { authorization: `Bearer ${token}` },
        });
        assert.equal(answer.status, 200);
      });
    }));
});

const describeFiles = (dataDir: string) =>
  readdirSync(dataDir)
    .filter((name) => name.startsWith('rollcall.db'))
    .sort()
    .map((name) => [name, statSync(join(dataDir, name)).size]);
