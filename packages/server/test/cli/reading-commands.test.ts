/** Commands that only read, and dry runs, neither create nor migrate a store. */
import assert from 'node:assert/strict';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { rollcall, rollcallOk } from './cli-process.ts';
import { embedded, makeSmallStore } from './stores.ts';

const READING: readonly (readonly string[])[] = [
  ['backup'],
  ['project', 'list'],
  ['customer', 'list'],
  ['token'],
  ['token', '--customer'],
  ['export', '--url', 'http://127.0.0.1:1'],
  ['sync', '-', '--url', 'http://127.0.0.1:1'],
  ['changes', '--url', 'http://127.0.0.1:1'],
];
const EMPTY_BACKUP = '{"type":"rollcall_store","version":1}\n{"type":"end","records":0}\n';

/** All tables of a database, and its schema version as far as it has one. */
const stateOf = (url: string) =>
  withClient(url, async (client) => {
    const tables = await client.query(
      `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
    );
    const names = tables.rows.map(({ tablename }) => tablename as string);
    const versions = names.includes('customers')
      ? (await client.query('SELECT number FROM schema_migrations ORDER BY 1')).rows
      : [];
    return { names, versions };
  });

/** Expects that reading commands fail with the complaint, and that the database stays as it is. */
async function expectUnread(databaseUrl: string, complaint: RegExp, commands = READING): Promise<void> {
  const before = await stateOf(databaseUrl);
  for (const args of [
    ...commands,
    ['migrate-store', '--from-database-url', databaseUrl, '--to-data-dir', '/none'],
  ]) {
    const env = { ROLLCALL_DATABASE_URL: databaseUrl };
    const { code, stdout, stderr } = await rollcall(args, { env });
    assert.deepEqual([code, stdout], [1, ''], `${args}: ${stderr}`);
    assert.match(stderr, complaint, args.join(' '));
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  }
  assert.deepEqual(await stateOf(databaseUrl), before);
  assert.equal(existsSync('/none'), false);
}

describe('commands that only read', () => {
  test(
    'a command that reads is an error on an empty PostgreSQL database, and creates nothing',
    { skip: skipsPostgres },
    () =>
      withDatabase((url) => expectUnread(url, /^rollcall: there is no store in PostgreSQL at [\w.:]+\/\w+/)),
  );

  test(
    "a command that reads is an error on another program's database, which stays as it is",
    { skip: skipsPostgres },
    () =>
      withDatabase(async (url) => {
        await withClient(url, (client) =>
          client.query('CREATE TABLE schema_migrations (version TEXT PRIMARY KEY)'),
        );
        await expectUnread(url, /^rollcall: there is no store in PostgreSQL at /, [['backup']]);
      }),
  );

  test(
    'a command that reads is an error on a database of an older schema, names the command that migrates it, and does not',
    { skip: skipsPostgres },
    () =>
      withDatabase(async (databaseUrl) => {
        await makeSmallStore({ dataDir: '', databaseUrl });
        await withClient(databaseUrl, (client) =>
          client.query(
            'DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)',
          ),
        );
        await expectUnread(databaseUrl, /older than the \d+ of this version.*rollcall serve/);
      }),
  );

  test(
    'a dry run into an empty PostgreSQL database succeeds, and creates nothing',
    { skip: skipsPostgres },
    () =>
      withDatabase((url) =>
        withDataDir(async (directory) => {
          const file = join(directory, 'backup.jsonl');
          writeFileSync(file, EMPTY_BACKUP);
          await rollcallOk(['restore', '--dry-run', file], { env: { ROLLCALL_DATABASE_URL: url } });
          const from = join(directory, 'from');
          await makeSmallStore(embedded(from));
          await rollcallOk(['migrate-store', '--dry-run', '--from-data-dir', from, '--to-database-url', url]);
          assert.deepEqual((await stateOf(url)).names, []);
        }),
      ),
  );

  test('a command that reads is an error on an embedded store of an older schema, and does not migrate it', () =>
    withDataDir(async (dataDir) => {
      await makeSmallStore(embedded(dataDir));
      const file = join(dataDir, 'rollcall.db');
      const older = new DatabaseSync(file);
      const version = Number(older.prepare('PRAGMA user_version').get()?.user_version) - 1;
      older.exec(`PRAGMA user_version = ${version}`);
      older.close();
      const backup = join(dataDir, 'backup.jsonl');
      writeFileSync(backup, EMPTY_BACKUP);
      const commands = READING.map((args) => [...args, '--data-dir', dataDir]);
      const dry = [
        ['restore', '--dry-run', backup, '--data-dir', dataDir],
        ['migrate-store', '--dry-run', '--from-data-dir', dataDir, '--to-data-dir', join(dataDir, 'none')],
      ];
      for (const args of [...commands, ...dry]) {
        const { code, stderr } = await rollcall(args);
        assert.equal(code, 1, `${args}: ${stderr}`);
        assert.match(
          stderr,
          /^rollcall: .*older than the \d+ of this version.*rollcall serve.*\n$/,
          args.join(' '),
        );
      }
      using after = new DatabaseSync(file);
      assert.equal(after.prepare('PRAGMA user_version').get()?.user_version, version);
    }));

  test('a command whose data directory cannot be searched reports the reason, and not that there is no store', () =>
    withDataDir(async (parent) => {
      // Nobody can search it, also not the account of these tests, for which no directory is closed.
      const dataDir = join(parent, 'loop');
      symlinkSync('loop', dataDir);
      for (const args of [...READING, ['project', 'create', 'Acme']]) {
        const { code, stderr } = await rollcall([...args, '--data-dir', dataDir]);
        assert.equal(code, 1, `${args}: ${stderr}`);
        assert.match(stderr, /^rollcall: the store [^\n]*loop[^\n]* cannot be opened: ELOOP[^\n]*\n$/);
      }
      const { stdout } = await rollcall(['doctor', '--data-dir', dataDir]);
      assert.match(stdout, /^failed +store: it cannot be read: [^\n]*ELOOP/m);
    }));
});
