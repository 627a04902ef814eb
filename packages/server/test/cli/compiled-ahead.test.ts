/**
 * A server compiles no source itself, because Node's TypeScript compiler never releases its memory. Before the first
 * start a separate process compiles all sources (bin/compile-ahead.mjs). Node's debug output names each cached source.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { useEveryPart } from '../support/every-part.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { copyServer } from '../support/server-copy.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cleanEnvironment, headersOfProject, KNOWN } from './cli-process.ts';

/** Fewer cached sources mean that Node's debug output has changed. */
const SOURCES_MIN = 100;

/** Runs `use` with a server that has never been started. */
async function withInstallation<Result>(use: (server: string) => Promise<Result>): Promise<Result> {
  await using directory = await temporaryDirectory('installed');
  return await use(copyServer(directory.path));
}

/** Starts the server for the first time and uses it. Returns the sources that were compiled before, and the others. */
async function sourcesOf(server: string, settings: Record<string, string>) {
  const args = ['serve', '--port', '0', '--data-dir', join(server, 'data'), ...KNOWN];
  const child = spawn(process.execPath, [join(server, 'bin/rollcall.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: cleanEnvironment({ ...settings, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }),
  });
  const ended = once(child, 'exit');
  const debugOutput = text(child.stderr);
  try {
    await useEveryPart(await listening(child.stdout.setEncoding('utf8')), headersOfProject());
  } finally {
    child.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [0, null]);
  const output = await debugOutput;
  const sources = (pattern: RegExp) =>
    [...output.matchAll(pattern)].map(([, file = '']) => file.replace(/^.*\/src\//, ''));
  return {
    found: sources(
      /^\[compile cache\] retrieving transpile cache for StrippedTypeScript (\S+?)\.{3}success$/gm,
    ),
    compiled: sources(/^\[compile cache\] no transpile cache for StrippedTypeScript (\S+)$/gm),
  };
}

/** The URL of the log line "listening". The output is read to its end, because a full pipe would block the server. */
function listening(output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = '';
    output.on('data', (chunk: string) => {
      log += chunk;
      const [, url] = /"url":"([^"]+)".*"msg":"listening"/.exec(log) ?? [];
      if (url !== undefined) resolve(url);
    });
    output.on('end', () => reject(new Error(`the server ended without listening: ${log}`)));
  });
}

async function assertCompiledAhead(settings: Record<string, string>, ...expected: string[]): Promise<void> {
  await withInstallation(async (server) => {
    const { found, compiled } = await sourcesOf(server, settings);
    assert.deepEqual(compiled, []);
    assert.ok(found.length > SOURCES_MIN, `${found.length} sources were found compiled`);
    for (const source of expected) assert.ok(found.includes(source), `${source} was loaded`);
  });
}

const withoutServers = skipsPostgres || (await skipsRedis());

describe('a server that starts for the first time compiles nothing', () => {
  test('a first start on the embedded engine loads compiled sources only', () =>
    assertCompiledAhead({}, 'store/sqlite/writer/sqlite-writer-thread.ts'));

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
