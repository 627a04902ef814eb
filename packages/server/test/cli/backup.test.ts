/** `rollcall backup` and `rollcall restore`: a whole store as a file, and the files that are rejected. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { StoreFileReader } from '../../src/cli/transfer/store-file.ts';
import { runCli, startCli } from '../roster/roster-cli.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { LAUNCHER } from '../support/launcher.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { type TestServer, withDataDir, withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { CHECKOUT, rollcall, rollcallOk } from './cli-process.ts';
import { embedded, exportedBy, makeSmallStore, SMALL_COUNTS } from './stores.ts';

/** The small store in `from`, and the text of its backup. */
const withBackup = (use: (text: string, directory: string) => Promise<void>): Promise<void> =>
  withDataDir(async (directory) => {
    const dataDir = join(directory, 'from');
    await makeSmallStore(embedded(dataDir));
    await use(await rollcallOk(['backup', '--data-dir', dataDir, '--quiet']), directory);
  });

const restored = async (directory: string, file: string, ...flags: readonly string[]) =>
  JSON.parse(await rollcallOk(['restore', file, '--data-dir', join(directory, 'to'), '--json', ...flags]));

describe('rollcall backup and restore', () => {
  test('a backup that is restored into an empty directory is the same store', () =>
    withBackup(async (text, directory) => {
      const [first, ...rest] = text.trimEnd().split('\n');
      assert.equal(first, '{"type":"rollcall_store","version":1}');
      assert.equal(rest.at(-1), `{"type":"end","records":${rest.length - 1}}`);
      const file = join(directory, 'backup.jsonl');
      writeFileSync(file, text);
      assert.deepEqual((await restored(directory, file)).records, SMALL_COUNTS);
      const records = await exportedBy(embedded(join(directory, 'from')));
      assert.deepEqual(await exportedBy(embedded(join(directory, 'to'))), records);
    }));

  test('a backup --output is a file that this account alone can read', () =>
    withBackup(async (text, directory) => {
      const file = join(directory, 'backup.jsonl.gz');
      writeFileSync(file, 'an older backup');
      chmodSync(file, 0o644);
      const args = ['backup', '--data-dir', join(directory, 'from'), '--gzip', '--output', file];
      const { code, stderr } = await rollcall(args);
      assert.deepEqual([code, stderr], [0, 'wrote 1 user, 1 group, 1 membership, 1 message\n']);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(gunzipSync(readFileSync(file)).toString(), text);
      assert.deepEqual(readdirSync(directory).sort(), ['backup.jsonl.gz', 'from']);
    }));

  test('restore reads gzip from standard input', () =>
    withBackup(async (text, directory) => {
      const to = join(directory, 'to');
      const { stdin, ended } = startCli(['restore', '-', '--data-dir', to]);
      stdin.end(gzipSync(text));
      const { code, stderr } = await ended;
      assert.deepEqual([code, stderr], [0, '']);
      assert.deepEqual(await exportedBy(embedded(to)), await exportedBy(embedded(join(directory, 'from'))));
    }));

  test('restore --dry-run checks every record and creates nothing', () =>
    withBackup(async (text, directory) => {
      const file = join(directory, 'backup.jsonl');
      writeFileSync(file, text);
      const summary = await restored(directory, file, '--dry-run');
      assert.deepEqual([summary.dry_run, summary.records], [true, SMALL_COUNTS]);
      assert.equal(existsSync(join(directory, 'to')), false);
    }));

  test('a backup of the embedded store is restored on PostgreSQL', { skip: skipsPostgres }, () =>
    withBackup((text, directory) =>
      withDatabase(async (databaseUrl) => {
        const file = join(directory, 'backup.jsonl');
        writeFileSync(file, text);
        const env = { ROLLCALL_DATABASE_URL: databaseUrl };
        await rollcallOk(['restore', file], { program: CHECKOUT, env });
        const records = await exportedBy({ dataDir: '', databaseUrl });
        assert.deepEqual(records, await exportedBy(embedded(join(directory, 'from'))));
      }),
    ),
  );

  test(
    'a position of changes of the original store is 410 in a restored one, of either engine',
    { skip: skipsPostgres },
    () =>
      withBackup((text, directory) =>
        withDatabase(async (databaseUrl) => {
          const file = join(directory, 'backup.jsonl');
          writeFileSync(file, text);
          await restored(directory, file);
          await rollcallOk(['restore', file], { env: { ROLLCALL_DATABASE_URL: databaseUrl } });
          const token = jwt({ project_id: 'p', iat: seconds(Date.now()) }, 'secret of p');
          const changes = (query: string) => (server: TestServer) =>
            server.request('GET', `/v1/changes?${query}`, { token });
          const original = await withServer({ dataDir: join(directory, 'from') }, changes('after=latest'));
          const { next } = original.json<{ next: string }>();
          for (const options of [{ dataDir: join(directory, 'to') }, { settings: { databaseUrl } }]) {
            const { status, text: body } = await withServer(options, changes(`after=${next}`));
            assert.deepEqual([status, /read everything anew/.test(body)], [410, true], body);
          }
        }),
      ),
  );

  test('a restore that is killed leaves an empty store, and can be repeated', () =>
    withBackup(async (text, directory) => {
      const to = join(directory, 'to');
      const args = [LAUNCHER, 'restore', '-', '--data-dir', to];
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] });
      const exited = once(child, 'exit');
      child.stdin.on('error', () => {});
      child.stdin.write(text.slice(0, text.indexOf('{"type":"end"')));
      await until('the store is opened', () => existsSync(join(to, 'rollcall.db-wal'))).finally(() =>
        child.kill('SIGKILL'),
      );
      assert.deepEqual(await exited, [null, 'SIGKILL']);
      assert.deepEqual(
        (await exportedBy(embedded(to))).filter((record) => !record.includes('service_key')),
        [],
      );
      const file = join(directory, 'backup.jsonl');
      writeFileSync(file, text);
      assert.deepEqual((await restored(directory, file)).records, SMALL_COUNTS);
    }));
});

test('a restore has at most 1 MiB of records in memory at once, and a record more', async () => {
  const content = [{ text: 'x'.repeat(100_000) }];
  const message = {
    type: 'message',
    project: 'p',
    thread: 't',
    id: 'm',
    author: 'u',
    content,
    created_at: 1,
  };
  const lines = Array.from({ length: 50 }, () => `${JSON.stringify({ ...message, revision: 'r' })}\n`);
  const reader = new StoreFileReader({
    name: 'a file',
    size: null,
    async *read() {
      for (const line of ['{"type":"rollcall_store","version":1}\n', ...lines]) yield Buffer.from(line);
      yield Buffer.from(`{"type":"end","records":${lines.length}}`);
    },
  });
  const batches = await Array.fromAsync(reader.batches(() => {}));
  assert.deepEqual(
    batches.map(({ length }) => length),
    [11, 11, 11, 11, 6],
  );
});

describe('files that rollcall restore rejects', () => {
  const HEADER = '{"type":"rollcall_store","version":1}';
  const CUSTOMER = '{"type":"customer","id":"c","secret":"s","name":"C","created_at":1}';
  const of = (...lines: readonly string[]) => lines.join('\n');
  const whole = (...lines: readonly string[]) =>
    of(HEADER, ...lines, `{"type":"end","records":${lines.length}}`);
  const PROJECT = '{"type":"project","id":"p","customer_id":"c","name":"P","secret":"s","created_at":1}';
  const GROUP = '{"type":"group","project":"p","id":"g","name":"G","revision":"r"}';
  const THREAD =
    '{"type":"thread","project":"p","group":"g","id":"t","name":"T","created_at":1,"revision":"r"}';
  const MESSAGE =
    '{"type":"message","project":"p","thread":"t","id":"m","author":"u","content":[{"text":"x"}],"created_at":1,"revision":"r"}';
  const WEBHOOK =
    '{"type":"webhook","project":"p","id":"w","url":"https://w.example/","secret":"s","created_at":1}';
  /** Their fault comes after records that the store has written by then, and takes back. */
  const ofRecords: readonly [what: string, text: string | Uint8Array, complaint: RegExp][] = [
    ['has no end', of(HEADER, CUSTOMER), /is truncated: its last line is not the end of 1 records/],
    ['has the same record twice', whole(CUSTOMER, '', CUSTOMER).replace('3}', '2}'), /:4: /],
    [
      'names an unknown customer',
      whole(CUSTOMER, CUSTOMER.replace('customer"', 'project","customer_id":"d"')),
      /:3: there is no earlier record of the customer d; nothing was written to the embedded store in /,
    ],
    [
      'has a thread of an unknown group',
      whole(CUSTOMER, PROJECT, THREAD),
      /:4: there is no earlier record of the group; nothing was written/,
    ],
    [
      'has a message of an unknown thread',
      whole(CUSTOMER, PROJECT, GROUP, THREAD, MESSAGE, MESSAGE.replace('"t"', '"other"')),
      /:7: there is no earlier record of the thread; nothing was written/,
    ],
    [
      'has a message with invalid content',
      whole(CUSTOMER, PROJECT, GROUP, THREAD, MESSAGE.replace('"x"', '7')),
      /:6: the message record has a wrong content\[0\]\.text: expected a string/,
    ],
    [
      'has a member without a record',
      whole(CUSTOMER, PROJECT, GROUP, '{"type":"members","project":"p","group":"g","users":["u"]}'),
      /:5: the group, or one of the users, has no earlier record; nothing was written/,
    ],
    [
      'has a message that is in the file twice',
      whole(CUSTOMER, PROJECT, GROUP, THREAD, MESSAGE, MESSAGE),
      /:7: an earlier message record is about the same/,
    ],
  ];
  const cases: readonly [what: string, text: string | Uint8Array, complaint: RegExp][] = [
    ...ofRecords,
    ['is empty', '', /-: ?|standard input is truncated/],
    ['is a roster', '{"type":"user","id":"ann"}\n', /standard input:1: expected \{"type":"rollcall_store"/],
    [
      'has another version',
      '{"type":"rollcall_store","version":2}',
      /:1: version 2 of the format is not known/,
    ],
    ['has a wrong count at its end', of(HEADER, CUSTOMER, '{"type":"end","records":2}'), /is truncated/],
    ['continues after its end', of(whole(), CUSTOMER), /:3: there is more after the end record/],
    [
      'is gzip that is cut off',
      gzipSync(whole(CUSTOMER)).subarray(0, 40),
      /cannot read standard input: unexpected end/,
    ],
    ['has a line that is not JSON', whole(CUSTOMER, '{"type"'), /:3: the line is not valid JSON/],
    [
      'has a line that is not UTF-8',
      Buffer.concat([Buffer.from(`${HEADER}\n`), Buffer.from([0xff, 0x0a])]),
      /:2: the line is not valid UTF-8/,
    ],
    [
      'has a record of an unknown type',
      whole('{"type":"invoice"}'),
      /:2: unknown type "invoice": expected one of service_key, customer,/,
    ],
    ['has a record without a type', whole('{"id":"c"}'), /:2: unknown type undefined/],
    [
      'has a record with an unexpected field',
      whole(CUSTOMER.replace('}', ',"nick":1}')),
      /:2: the customer record has an unexpected field nick/,
    ],
    [
      'has a record without a field',
      whole('{"type":"customer","id":"c"}'),
      /:2: the customer record has no secret/,
    ],
    [
      'has a record with a wrong value',
      whole(CUSTOMER.replace('"C"', '7')),
      /:2: the customer record has a wrong name: expected a string/,
    ],
    [
      'has a record with a number that JSON readers alter',
      whole(
        CUSTOMER,
        `{"type":"project","id":"p","customer_id":"c","name":"P","secret":"s","created_at":1e400}`,
      ),
      /:3: the project record has a wrong created_at/,
    ],
    ['has a time that is none', whole(CUSTOMER.replace(':1}', ':9e15}')), /:2: .* wrong created_at/],
    ['has a time before 1970', whole(CUSTOMER.replace(':1}', ':-1}')), /:2: .* wrong created_at/],
    [
      'has a thread of no year',
      whole(CUSTOMER, PROJECT, GROUP, THREAD.replace(':1,', ':-7e13,')),
      /:5: the thread record has a wrong created_at: expected milliseconds since 1970/,
    ],
    [
      'has a thread whose URL is none',
      whole(CUSTOMER, PROJECT, GROUP, THREAD.replace('}', ',"url":"nowhere"}')),
      /:5: the thread record has a wrong url/,
    ],
    [
      'has a webhook whose URL is none',
      whole(CUSTOMER, PROJECT, WEBHOOK.replace('https:', 'ftp:')),
      /:4: the webhook record has a wrong url: expected an absolute https URL/,
    ],
    [
      'has a webhook of unknown types',
      whole(CUSTOMER, PROJECT, WEBHOOK.replace('}', ',"types":["user.sold"]}')),
      /:4: the webhook record has a wrong types\[0\]/,
    ],
  ];
  for (const [what, text, complaint] of cases) {
    test(`restore and restore --dry-run reject a file that ${what}, and the store stays empty`, () =>
      withDataDir(async (directory) => {
        const dataDir = join(directory, 'to');
        const args = ['restore', '-', '--data-dir', dataDir];
        expectRejected(await runCli([...args, '--dry-run'], { input: text }), complaint);
        assert.equal(existsSync(dataDir), false);
        expectRejected(await runCli(args, { input: text }), complaint);
        assert.deepEqual(await recordsBesideKey(embedded(dataDir)), []);
      }));
  }

  test(
    'restore into PostgreSQL rejects files with wrong records with the same lines, and the store stays empty',
    { skip: skipsPostgres },
    () =>
      withDatabase(async (databaseUrl) => {
        for (const [what, text, complaint] of ofRecords) {
          const lines = new RegExp(complaint.source.replace('the embedded store in ', 'PostgreSQL at '));
          const ended = await runCli(['restore', '-'], {
            input: text,
            env: { ROLLCALL_DATABASE_URL: databaseUrl },
          });
          expectRejected(ended, lines, what);
          assert.deepEqual(await recordsBesideKey({ dataDir: '', databaseUrl }), [], what);
        }
      }),
  );

  test('rollcall sync rejects a backup and names rollcall restore', () =>
    withBackup(async (text) => {
      const args = ['sync', '-', '--url', 'http://127.0.0.1:1', '--token', 'x.y.z'];
      const { code, stderr } = await runCli(args, { input: text });
      assert.equal(code, 1);
      assert.match(stderr, /standard input is a backup of a whole store: read it with "rollcall restore"/);
    }));
});

function expectRejected(
  { code, stdout, stderr }: Awaited<ReturnType<typeof runCli>>,
  complaint: RegExp,
  what = '',
): void {
  assert.deepEqual([code, stdout.toString()], [1, ''], what);
  assert.match(stderr, complaint, what);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
}

const recordsBesideKey = async (store: Parameters<typeof exportedBy>[0]) =>
  (await exportedBy(store)).filter((record) => !record.includes('service_key'));
