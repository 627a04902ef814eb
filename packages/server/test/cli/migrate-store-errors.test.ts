/** What migrate-store prints, and what it rejects without a change. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, rollcall, rollcallOk } from './cli-process.ts';
import { migrate, serverAt, withSmallStore } from './migrate-store.ts';
import { embedded, exportedBy, flagsOf, makeSmallStore, SMALL_COUNTS } from './stores.ts';

describe('rollcall migrate-store', () => {
  test('migrate-store into a store with a customer is exit code 1 and changes nothing', () =>
    withSmallStore(async (from, to) => {
      await makeSmallStore(to);
      const before = await exportedBy(to);
      for (const flags of [[], ['--dry-run']]) {
        const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to), ...flags];
        const { code, stdout, stderr } = await rollcall(args);
        assert.deepEqual([code, stdout], [1, '']);
        assert.match(stderr, /^rollcall: the embedded store in .* is not empty: name an empty database, or/);
      }
      assert.deepEqual(await exportedBy(to), before);
    }));

  test('migrate-store into the data directory of a running server is exit code 1', () =>
    withSmallStore((from, to) =>
      serverAt(to, async () => {
        const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to)];
        const { code, stderr } = await rollcall(args, { program: CHECKOUT });
        assert.equal(code, 1);
        assert.match(stderr, /another server uses the data directory/);
      }),
    ));

  test('migrate-store prints a table of the records, and with --dry-run writes nothing', () =>
    withSmallStore(async (from, to) => {
      assert.deepEqual((await migrate(from, to, '--dry-run')).records, SMALL_COUNTS);
      assert.equal(existsSync(to.dataDir), false);
      const args = ['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to)];
      assert.match(
        await rollcallOk([...args, '--dry-run']),
        /^Dry run: nothing was changed\.\nservice keys +1\ncustomers +1\n/,
      );
      assert.match(
        await rollcallOk(args, { program: CHECKOUT }),
        /^service keys +1\ncustomers +1\n(?:.*\n)*webhooks +1\n(?:.*\n)*memberships +1\ndurable presence +0\nthreads +1\nparticipants +1\nmessages +1\n[\d.]+ s\n$/,
      );
      assert.deepEqual(await exportedBy(to), await exportedBy(from));
    }));

  const SECRET_URL = 'postgres://user:p4ssw0rd@127.0.0.1:1/db';
  test('migrate-store reads a database URL from ROLLCALL_TO_DATABASE_URL', () =>
    withSmallStore(async (from) => {
      const env = { ROLLCALL_TO_DATABASE_URL: SECRET_URL };
      const { code, stderr } = await rollcall(['migrate-store', ...flagsOf('from', from)], { env });
      assert.equal(code, 1);
      assert.match(stderr, /127\.0\.0\.1:1/);
    }));

  const misuses: readonly [what: string, args: readonly string[], complaint: RegExp][] = [
    ['no store', [], /--from-data-dir or --from-database-url, not none/],
    ['one store', ['--from-data-dir', 'a'], /--to-data-dir or --to-database-url, not none/],
    [
      'two stores on one side',
      ['--from-data-dir', 'a', '--from-database-url', SECRET_URL, '--to-data-dir', 'b'],
      /not two/,
    ],
    ['the same directory twice', ['--from-data-dir', 'a', '--to-data-dir', './x/../a'], /both options name/],
    [
      'the same database twice',
      [
        ...['--from-database-url', SECRET_URL],
        ...['--to-database-url', 'postgresql://other@localhost:1/db?sslmode=disable'],
      ],
      /both options name PostgreSQL at localhost:1\/db/,
    ],
    [
      'a URL of something else',
      ['--from-data-dir', 'a', '--to-database-url', 'mysql://user:p4ssw0rd@h/db'],
      /--to-database-url: expected a URL that starts with postgres:\/\//,
    ],
    [
      'the same databases twice, of several servers',
      [
        ...['--from-database-url', 'postgres://user:p4ssw0rd@127.0.0.1:1,db-2/db'],
        ...['--to-database-url', 'postgres://user:p4ssw0rd@localhost:1,db-2:5432/db'],
      ],
      /both options name PostgreSQL at localhost:1,db-2:5432\/db/,
    ],
    [
      'a password that is not encoded',
      ['--from-data-dir', 'a', '--to-database-url', 'postgres://user:1/p4ssw0rd@h/db'],
      /--to-database-url: the database URL is wrong: it has an @ after the hosts; .*%2F for \//,
    ],
    ['an empty directory name', ['--from-data-dir', '', '--to-data-dir', 'b'], /--from-data-dir: expected/],
  ];
  for (const [what, args, complaint] of misuses) {
    test(`migrate-store with ${what} is bad usage, with one line and no secret`, () =>
      withDataDir(async (directory) => {
        const given = args.map((arg) => (/^(?:\.\/x\/\.\.\/)?[ab]$/.test(arg) ? `${directory}/${arg}` : arg));
        const { code, stdout, stderr } = await rollcall(['migrate-store', ...given]);
        assert.deepEqual([code, stdout], [2, '']);
        assert.match(stderr, complaint);
        assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
        assert.ok(!stderr.includes('p4ssw0rd'), stderr);
      }));
  }

  test('migrate-store from a directory to the same one by another name is bad usage', () =>
    withSmallStore(async ({ dataDir }) => {
      await symlink(dataDir, `${dataDir}-link`);
      const args = ['migrate-store', '--from-data-dir', dataDir, '--to-data-dir', `${dataDir}-link`];
      const { code, stderr } = await rollcall(args);
      assert.equal(code, 2);
      assert.match(stderr, /both options name/);
    }));

  test('migrate-store names the one of two stores that a newer version has written', () =>
    withDataDir(async (directory) => {
      const [older, newer] = [join(directory, 'older'), join(directory, 'newer')];
      for (const dataDir of [older, newer]) await makeSmallStore(embedded(dataDir));
      const database = new DatabaseSync(join(newer, 'rollcall.db'));
      database.exec('PRAGMA user_version = 9999');
      database.close();
      for (const args of [
        ['--from-data-dir', newer, '--to-data-dir', older],
        ['--from-data-dir', older, '--to-data-dir', newer],
        ['--from-data-dir', older, '--to-data-dir', newer, '--dry-run'],
      ]) {
        const { code, stderr } = await rollcall(['migrate-store', '--quiet', ...args]);
        assert.equal(code, 1);
        assert.ok(
          stderr.startsWith(`rollcall: the embedded store in ${newer}: the store has schema version 9999`),
          stderr,
        );
      }
    }));

  test('migrate-store from a store that does not exist is exit code 1 and creates no store', () =>
    withDataDir(async (cwd) => {
      const args = ['migrate-store', '--from-data-dir', 'nowhere', '--to-data-dir', 'new'];
      const { code, stderr } = await rollcall(args, { cwd });
      assert.equal(code, 1);
      assert.match(stderr, /^rollcall: there is no store in nowhere\n$/);
      assert.deepEqual([existsSync(join(cwd, 'nowhere')), existsSync(join(cwd, 'new'))], [false, false]);
    }));

  test('migrate-store to a database that does not answer is exit code 1, and prints no password', () =>
    withSmallStore(async (from) => {
      const args = ['migrate-store', ...flagsOf('from', from), '--to-database-url', SECRET_URL];
      const { code, stdout, stderr } = await rollcall(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^rollcall: .*127\.0\.0\.1:1/);
      assert.ok(!stderr.includes('p4ssw0rd'), stderr);
    }));
});
