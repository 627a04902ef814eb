/** Ctrl-C while a long command runs: what it says, and what it leaves. Shells call the end by this signal 130. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readdirSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { type CliProcess, KNOWN, rollcall, withCommand, withRequests, withServe } from './cli-process.ts';
import { embedded, exportedBy, makeSmallStore } from './stores.ts';

/** One request has 10,000 of these users; the others wait for more. */
const USERS = Array.from({ length: 10_500 }, (_, index) => `{"type":"user","id":"u${index}"}\n`);

/** A server that counts requests, and by default answers none. */
async function withSilentServer(
  use: (url: string, requests: () => number) => Promise<void>,
  answer: (response: ServerResponse) => void = () => {},
): Promise<void> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => requests);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A pipe with a name, to which lines are written without its end. */
async function withOpenPipe(
  directory: string,
  lines: readonly string[],
  use: (path: string) => Promise<void>,
): Promise<void> {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const writer = createWriteStream(path);
  writer.on('error', () => {});
  writer.write(lines.join(''));
  try {
    await use(path);
  } finally {
    writer.destroy();
  }
}

/** Locks the messages of the database while `use` runs; `isWaitedFor`: a reader waits for the lock. */
const withMessagesLocked = (
  databaseUrl: string,
  use: (isWaitedFor: () => Promise<boolean>) => Promise<void>,
) =>
  withClient(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('LOCK TABLE messages IN ACCESS EXCLUSIVE MODE');
    const waiting = `
      SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
      WHERE relation = 'messages'::regclass AND NOT granted`;
    await use(async () => (await client.query(waiting)).rows.length > 0);
    await client.query('ROLLBACK');
  });

async function interrupted(command: CliProcess) {
  command.signal('SIGINT');
  return command.ended;
}

describe('Ctrl-C', () => {
  test('Ctrl-C during rollcall sync prints what was done, and ends as the signal does', () =>
    withDataDir((directory) =>
      withServe(join(directory, 'data'), KNOWN, ({ url }) =>
        withRequests(url, (request) =>
          withOpenPipe(directory, USERS, (path) =>
            withCommand(
              ['sync', path, '--url', url, '--data-dir', join(directory, 'data'), '--json'],
              async (command) => {
                const isApplied = async () => (await request('GET', '/v1/users/u9999')).status === 200;
                await until('the users', async () => !command.running || (await isApplied()));
                assert.ok(command.running, 'sync has ended');
                const { signal, stdout, stderr } = await interrupted(command);
                assert.equal(signal, 'SIGINT');
                const { complete, users } = JSON.parse(stdout);
                assert.deepEqual([complete, users.created], [false, 10_000]);
                assert.match(
                  stderr,
                  /^rollcall: interrupted by Ctrl-C; what is counted is applied\. It is safe/m,
                );
              },
            ),
          ),
        ),
      ),
    ));

  test('a second Ctrl-C ends rollcall sync while its request is not answered', () =>
    withDataDir((directory) =>
      withSilentServer((url, requests) =>
        withOpenPipe(directory, USERS, (path) =>
          withCommand(['sync', path, '--url', url, '--token', 'x.y.z'], async (command) => {
            await until('a request', () => requests() > 0);
            const ended = command.ended;
            const again = setInterval(() => command.signal('SIGINT'), 50);
            const { signal } = await ended.finally(() => clearInterval(again));
            assert.equal(signal, 'SIGINT');
          }),
        ),
      ),
    ));

  test('Ctrl-C during rollcall sync above the rate limit ends it, and sends no request again', () =>
    withDataDir((directory) =>
      withSilentServer(
        (url, requests) =>
          withOpenPipe(directory, USERS, (path) =>
            withCommand(['sync', path, '--url', url, '--token', 'x.y.z'], async (command) => {
              await until('a request', () => requests() > 0);
              const { signal, stderr } = await interrupted(command);
              assert.equal(signal, 'SIGINT');
              assert.match(
                stderr,
                /^rollcall: interrupted by Ctrl-C; what is counted is applied\. It is safe/m,
              );
              assert.equal(requests(), 1);
            }),
          ),
        (response) => response.writeHead(429, { 'retry-after': '60' }).end('{}'),
      ),
    ));

  test('Ctrl-C during rollcall export leaves no file, and the message reports that', () =>
    withDataDir((directory) =>
      withSilentServer((url, requests) => {
        const file = join(directory, 'roster.jsonl');
        const args = ['export', '--url', url, '--token', 'x.y.z', '--output', file];
        return withCommand(args, async (command) => {
          await until('a request', () => requests() > 0);
          const { signal, stderr } = await interrupted(command);
          assert.equal(signal, 'SIGINT');
          assert.equal(stderr, `rollcall: interrupted by Ctrl-C; ${file} was not written\n`);
          assert.deepEqual(readdirSync(directory), []);
        });
      }),
    ));

  test('Ctrl-C during rollcall restore writes nothing to the store', () =>
    withDataDir(async (directory) => {
      await makeSmallStore(embedded(join(directory, 'from')));
      const backup = await rollcall(['backup', '--data-dir', join(directory, 'from'), '--quiet']);
      const to = join(directory, 'to');
      const lines = backup.stdout.split(/(?<=\n)/);
      await withOpenPipe(directory, lines.slice(0, -1), (path) =>
        withCommand(['restore', path, '--data-dir', to], async (command) => {
          await until('the store', () => readdirSync(directory).includes('to'));
          const { signal, stderr } = await interrupted(command);
          assert.equal(signal, 'SIGINT');
          assert.match(stderr, /^rollcall: interrupted by Ctrl-C; nothing was written to /);
        }),
      );
      // An empty store is one that can be filled.
      const again = [
        'migrate-store',
        '--from-data-dir',
        join(directory, 'from'),
        '--to-data-dir',
        to,
        '--quiet',
      ];
      assert.equal((await rollcall(again)).code, 0);
    }));

  test(
    'Ctrl-C during rollcall backup and migrate-store leaves nothing half-written',
    { skip: skipsPostgres },
    () =>
      withDataDir((directory) =>
        withDatabase(async (databaseUrl) => {
          await makeSmallStore({ dataDir: '', databaseUrl });
          const file = join(directory, 'backup.jsonl');
          const to = join(directory, 'to');
          const backup = ['backup', '--database-url', databaseUrl, '--output', file];
          const migrate = ['migrate-store', '--from-database-url', databaseUrl, '--to-data-dir', to];
          for (const args of [backup, migrate]) {
            await withMessagesLocked(databaseUrl, (isWaitedFor) =>
              withCommand(args, async (command) => {
                await until('a read that waits', isWaitedFor);
                const { signal, stderr } = await interrupted(command);
                assert.equal(signal, 'SIGINT');
                assert.match(stderr, /interrupted by Ctrl-C; (\S+ was not written|nothing was written to )/);
              }),
            );
          }
          assert.ok(!existsSync(file) && readdirSync(directory).every((name) => name === 'to'));
          assert.deepEqual(await exportedBy(embedded(to)), []);
        }),
      ),
  );
});

describe('ROLLCALL_LOG_LEVEL', () => {
  test('the log level silent writes no line', () =>
    withDataDir(async (dataDir) => {
      const free = createServer().listen(0, '127.0.0.1');
      await once(free, 'listening');
      const { port } = free.address() as AddressInfo;
      free.close();
      await once(free, 'close');
      const args = ['serve', '--port', `${port}`, '--data-dir', dataDir, ...KNOWN];
      await withCommand(
        args,
        async (command) => {
          const isUp = () =>
            fetch(`http://127.0.0.1:${port}/healthz`).then(
              ({ ok }) => ok,
              () => false,
            );
          await until('the server', async () => !command.running || (await isUp()));
          assert.ok(command.running, 'the server has ended');
          command.signal('SIGTERM');
          assert.deepEqual(await command.ended, { code: 0, signal: null, stdout: '', stderr: '' });
        },
        { env: { ROLLCALL_LOG_LEVEL: 'silent' } },
      );
    }));
});
