/** Secrets and URLs that are in files, as Docker and Kubernetes mount them. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { SETTINGS, type SettingDefinition } from '../../src/config/setting-definitions.ts';
import { withDataDir } from '../support/server.ts';
import { type Ended, PROJECT, requestsTo, rollcall, rollcallOk, withServe } from './cli-process.ts';

const SECRET = 'sixteen letters!';

/** What goes with a secret of the settings. */
const VALUES: Readonly<Record<string, { readonly text: string; readonly others: Record<string, string> }>> = {
  ROLLCALL_DATABASE_URL: { text: 'postgres://u:hidden@db/rollcall', others: {} },
  ROLLCALL_REDIS_URL: { text: 'redis://:hidden@cache', others: {} },
  ROLLCALL_CUSTOMER_SECRET: { text: SECRET, others: { ROLLCALL_CUSTOMER_ID: 'acme' } },
  ROLLCALL_PROJECT_SECRET: { text: SECRET, others: { ROLLCALL_PROJECT_ID: 'acme' } },
};

/** Runs `use` with a function that writes a file and returns its path. */
const withFiles = (use: (write: (content: string | Buffer) => string) => Promise<void>) =>
  withDataDir(async (directory) => {
    mkdirSync(directory, { recursive: true });
    let count = 0;
    await use((content) => {
      count += 1;
      const path = join(directory, `value-${count}`);
      writeFileSync(path, content);
      return path;
    });
  });

const check = (env: Record<string, string>) => rollcall(['config', 'check', '--json'], { env });

/** The one line that a command with a bad setting ends with. */
function complaint({ code, stderr }: Ended): string {
  assert.equal(code, 2, stderr);
  assert.equal(stderr.trim().split('\n').length, 1, stderr);
  return stderr.trim();
}

test('the databases of migrate-store can be in files too, and empty variables count as unset', () =>
  withFiles(async (write) => {
    const env = { ROLLCALL_TO_DATABASE_URL: '', ROLLCALL_FROM_DATABASE_URL: '' };
    const none = await rollcall(['migrate-store', '--from-data-dir', 'none'], { env });
    assert.match(complaint(none), /name one store with --to-data-dir or --to-database-url, not none/);
    const directories = ['migrate-store', '--from-data-dir', 'none', '--to-data-dir', 'other'];
    const ended = await rollcall(directories, { env });
    assert.deepEqual([ended.code, ended.stderr], [1, 'rollcall: there is no store in none\n']);
    const file = write('postgres://u:hidden@127.0.0.1:1/db\n');
    const same = { ROLLCALL_TO_DATABASE_URL_FILE: file, ROLLCALL_FROM_DATABASE_URL_FILE: file };
    const named = await rollcall(['migrate-store'], { env: same });
    assert.match(complaint(named), /both options name PostgreSQL at localhost:1\/db/);
    const wrong = await rollcall(['migrate-store', '--from-data-dir', 'none'], {
      env: { ROLLCALL_TO_DATABASE_URL: 'mysql://u:hidden@h/db' },
    });
    assert.match(complaint(wrong), /ROLLCALL_TO_DATABASE_URL: expected a URL that starts with postgres/);
    assert.ok(!wrong.stderr.includes('hidden'), wrong.stderr);
    const { warnings } = JSON.parse((await check(same)).stdout);
    assert.deepEqual(warnings, []);
  }));

describe('settings that are in files', () => {
  test('every secret and every URL of the settings has a file variable, and config check shows that it came from a file', () =>
    withFiles(async (write) => {
      const secrets = Object.values<SettingDefinition>(SETTINGS).filter(({ secret }) => secret === true);
      assert.deepEqual(secrets.map(({ env }) => env).toSorted(), Object.keys(VALUES).toSorted());
      const entries = Object.entries(VALUES);
      const files = entries.map(([env, { text }]) => [`${env}_FILE`, write(`${text}\n`)]);
      const others = entries.map(([, value]) => value.others);
      const env = Object.assign(Object.fromEntries(files), ...others) as Record<string, string>;
      const { code, stdout, stderr } = await check(env);
      assert.equal(code, 0, stderr);
      const { settings, warnings } = JSON.parse(stdout) as {
        readonly settings: readonly { readonly name: string; readonly from: string }[];
        readonly warnings: readonly string[];
      };
      const fromFiles = settings.filter(({ from }) => from === 'file').map(({ name }) => name);
      assert.deepEqual(fromFiles.toSorted(), Object.keys(VALUES).toSorted());
      assert.deepEqual(warnings, []);
      assert.ok(!stdout.includes('hidden') && !stdout.includes(SECRET), stdout);
    }));

  test('a file that is missing, a directory, unreadable, empty, too long, of several lines or no text ends the start with one line', () =>
    withFiles(async (write) => {
      const unreadable = write(SECRET);
      chmodSync(unreadable, 0);
      const cases: [path: string, reason: RegExp][] = [
        ['/nonexistent/secret', /"\/nonexistent\/secret" cannot be read: no such file or directory$/],
        ['/', /"\/" cannot be read: illegal operation on a directory$/],
        [write(''), / is empty$/],
        [write('\r\n\n'), / is empty$/],
        [write(`${SECRET}\n${SECRET}\n`), / has more than one line$/],
        [write('x'.repeat(65_537)), / has more than 65536 bytes$/],
        ['/dev/zero', / has more than 65536 bytes$/],
        [write(Buffer.from([0xff, 0xfe, 0x20])), / is not text in UTF-8$/],
        [write('hidden'), /^rollcall: ROLLCALL_PROJECT_SECRET_FILE: expected a secret of at least/],
      ];
      // Root reads every file.
      if (process.getuid?.() !== 0) cases.push([unreadable, / cannot be read: permission denied$/]);
      for (const [ROLLCALL_PROJECT_SECRET_FILE, reason] of cases) {
        const line = complaint(await check({ ROLLCALL_PROJECT_ID: 'p', ROLLCALL_PROJECT_SECRET_FILE }));
        assert.match(line, /^rollcall: ROLLCALL_PROJECT_SECRET_FILE: /);
        assert.match(line, reason);
        assert.ok(!line.includes('hidden') && !line.includes(SECRET), line);
      }
    }));

  test('a variable and its file variable that are both set are rejected, an empty one counts as absent', () =>
    withFiles(async (write) => {
      const url = 'redis://:hidden@cache';
      const both = { ROLLCALL_REDIS_URL: url, ROLLCALL_REDIS_URL_FILE: write(url) };
      const expected =
        'rollcall: ROLLCALL_REDIS_URL and ROLLCALL_REDIS_URL_FILE are both set: unset one of them';
      assert.equal(complaint(await check(both)), expected);
      for (const empty of Object.keys(both)) {
        assert.equal((await check({ ...both, [empty]: '' })).code, 0);
      }
    }));

  test('a flag wins over a file variable, also over one that cannot be read', async () => {
    const env = { ROLLCALL_REDIS_URL: 'x', ROLLCALL_REDIS_URL_FILE: '/nonexistent' };
    await rollcallOk(['config', 'check', '--redis-url', 'redis://cache'], { env });
  });

  test('problems of several files are named in one line', async () => {
    const env = {
      ROLLCALL_REDIS_URL_FILE: '/nonexistent',
      ROLLCALL_DATABASE_URL_FILE: '/',
      ROLLCALL_PORT: 'x',
    };
    const line = complaint(await check(env));
    assert.match(line, /ROLLCALL_PORT: .*; ROLLCALL_DATABASE_URL_FILE: .*; ROLLCALL_REDIS_URL_FILE: /);
  });

  test('a setting that is no secret has no file variable: config check warns', async () => {
    const { stdout } = await check({ ROLLCALL_PORT_FILE: '/nonexistent' });
    assert.deepEqual(JSON.parse(stdout).warnings, ['ROLLCALL_PORT_FILE is not a setting']);
  });

  test('a server takes the secret of its project from a file, and a client its own from a file', () =>
    withFiles(async (write) => {
      const secret = write(`${PROJECT.secret}\r\n`);
      const server = { ROLLCALL_PROJECT_ID: PROJECT.id, ROLLCALL_PROJECT_SECRET_FILE: secret };
      await withDataDir((dataDir) =>
        withServe(
          dataDir,
          [],
          async ({ url }) => {
            const { status } = await requestsTo(url)('PUT', '/v1/groups/docs', { name: 'Docs' });
            assert.equal(status, 200);
            const ROLLCALL_URL_FILE = write(`${url}\n`);
            const token = await rollcallOk(['token', '--project', PROJECT.id, '--secret', PROJECT.secret]);
            for (const credentials of [server, { ROLLCALL_TOKEN_FILE: write(token) }]) {
              const env = { ...credentials, ROLLCALL_URL_FILE };
              const exported = await rollcallOk(['export', '--quiet'], { env });
              assert.match(exported, /"id":"docs"/);
            }
          },
          { env: server },
        ),
      );
    }));

  test('commands that send requests reject a bad file of ROLLCALL_URL_FILE or ROLLCALL_TOKEN_FILE', () =>
    withFiles(async (write) => {
      const url = write('localhost:8080\n');
      const badUrl = complaint(await rollcall(['export'], { env: { ROLLCALL_URL_FILE: url } }));
      assert.match(badUrl, /^rollcall: ROLLCALL_URL_FILE: expected a URL/);
      const env = { ROLLCALL_URL: 'http://127.0.0.1:1', ROLLCALL_TOKEN_FILE: write('') };
      assert.match(
        complaint(await rollcall(['export'], { env })),
        /^rollcall: ROLLCALL_TOKEN_FILE: .* is empty$/,
      );
    }));
});
