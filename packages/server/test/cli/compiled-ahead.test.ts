/**
 * A server compiles no source itself: Node's TypeScript compiler, once loaded, takes memory for good. Before its first
 * start a process of its own compiles all of them (bin/compile-ahead.mjs); Node tells what was kept, and what was not.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { send } from '../support/http-client.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { headersOfProject, KNOWN } from './cli-process.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const SERVER = 'packages/server';
/** More is applied on a thread of its own, where the engine has such threads. */
const LARGE_BATCH_USERS = 5_000;
/** Longer than any body that is read on the event loop. */
const LARGE_BODY_PADDING = ' '.repeat(300_000);
/** What a server loads at least: fewer, and Node tells it in other words than these. */
const LEAST_SOURCES = 100;

/** Runs `use` with an installation that has never been started: the sources as they are, the dependencies by links. */
async function withInstallation<Result>(use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-installed-'));
  try {
    for (const part of ['bin', 'src', 'package.json']) {
      cpSync(join(ROOT, SERVER, part), join(directory, SERVER, part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    const own = join(ROOT, SERVER, 'node_modules');
    mkdirSync(join(directory, SERVER, 'node_modules'));
    for (const dependency of readdirSync(own).filter((name) => !name.startsWith('.'))) {
      symlinkSync(join(own, dependency), join(directory, SERVER, 'node_modules', dependency));
    }
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What loads sources while a server runs. */
async function useServer(url: string): Promise<void> {
  for (const path of ['/openapi.json', '/docs', '/metrics', '/readyz']) {
    assert.equal((await send(url, 'GET', path)).status, 200, path);
  }
  const headers = headersOfProject();
  const users = Array.from({ length: LARGE_BATCH_USERS }, (_, index) => ({ id: `u${index}`, name: 'N' }));
  const body = JSON.stringify({ users, groups: [{ id: 'g', name: 'G', members: ['u1'] }] });
  const batch = await send(url, 'POST', '/v1/batch', { headers, body });
  assert.equal(batch.status, 200, batch.text);
  const group = await send(url, 'PUT', '/v1/groups/h', {
    headers,
    body: `{"name":"H"}${LARGE_BODY_PADDING}`,
  });
  assert.equal(group.status, 200, group.text);
  assert.equal((await send(url, 'GET', '/v1/groups/g', { headers })).status, 200);
}

/** Starts the installed server for the first time and uses it: the sources that it found compiled, and those that it did not. */
async function sourcesOf(directory: string, settings: Record<string, string>) {
  const args = ['serve', '--port', '0', '--data-dir', join(directory, 'data'), ...KNOWN];
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('ROLLCALL_') && !name.startsWith('NODE_'),
  );
  const child = spawn(process.execPath, [join(directory, SERVER, 'bin/rollcall.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...Object.fromEntries(kept), ...settings, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
  });
  const ended = once(child, 'exit');
  const said = text(child.stderr);
  try {
    await useServer(await listening(child.stdout.setEncoding('utf8')));
  } finally {
    child.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [0, null]);
  const output = await said;
  const sources = (pattern: RegExp) =>
    [...output.matchAll(pattern)].map(([, file = '']) => file.replace(/^.*\/src\//, ''));
  return {
    found: sources(
      /^\[compile cache\] retrieving transpile cache for StrippedTypeScript (\S+?)\.{3}success$/gm,
    ),
    compiled: sources(/^\[compile cache\] no transpile cache for StrippedTypeScript (\S+)$/gm),
  };
}

/** The URL that a server says it listens at. What it says afterwards is read too, or it would wait to say it. */
function listening(output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = '';
    output.on('data', (chunk: string) => {
      log += chunk;
      const [, url] = /"url":"([^"]+)".*"msg":"listening"/.exec(log) ?? [];
      if (url !== undefined) resolve(url);
    });
    output.on('end', () => reject(new Error(`it ended without listening: ${log}`)));
  });
}

async function assertCompiledAhead(settings: Record<string, string>, ...expected: string[]): Promise<void> {
  await withInstallation(async (directory) => {
    const { found, compiled } = await sourcesOf(directory, settings);
    assert.deepEqual(compiled, []);
    assert.ok(found.length > LEAST_SOURCES, `${found.length} sources were found compiled`);
    for (const source of expected) assert.ok(found.includes(source), `${source} was loaded`);
  });
}

const withoutServers = skipsPostgres || (await skipsRedis());

describe('a server that starts for the first time compiles nothing', () => {
  test('a first start on the embedded engine loads compiled sources only', () =>
    assertCompiledAhead({}, 'store/sqlite/sqlite-writer-thread.ts'));

  test('a first start on PostgreSQL and Redis loads compiled sources only', { skip: withoutServers }, () =>
    withDatabase((url) =>
      assertCompiledAhead(
        { ROLLCALL_DATABASE_URL: url, ROLLCALL_REDIS_URL: freshRedisUrl() },
        'store/postgres/postgres-store.ts',
        'broker/redis/redis-broker.ts',
      ),
    ),
  );
});
