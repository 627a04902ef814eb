import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { startSentinelPair } from '../support/redis-sentinels.ts';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, rollcall, withServe } from './cli-process.ts';

interface Check {
  readonly name: string;
  readonly outcome: string;
  readonly found: string;
  readonly advice: string | null;
}

/** The report of the doctor about servers, and its exit code. By default no Rollcall runs at the URL that it checks. */
async function doctor(settings: Record<string, string>): Promise<{ code: number | null; checks: Check[] }> {
  const env = { ROLLCALL_PORT: '1', ...settings };
  // A process, which ends by itself once the connections to the servers are closed.
  const { code, stdout } = await rollcall(['doctor', '--json'], { program: CHECKOUT, env });
  return { code, checks: JSON.parse(stdout) as Check[] };
}

const outcomes = (checks: readonly Check[]) => checks.map(({ name, outcome }) => `${name}: ${outcome}`);
const found = (checks: readonly Check[], name: string) => checks.find((check) => check.name === name);

test('rollcall doctor reports why a Rollcall and a Redis do not answer whose name has two addresses', async () => {
  const { checks } = await doctor({
    NODE_OPTIONS: `--import ${new URL('two-addresses.mjs', import.meta.url)}`,
    ROLLCALL_URL: 'http://two.test:2',
    ROLLCALL_REDIS_URL: 'redis://two.test:2',
  });
  assert.equal(
    found(checks, 'server')?.found,
    'http://two.test:2 does not answer: connect ECONNREFUSED 127.0.0.1:2; connect ECONNREFUSED 127.0.0.2:2',
  );
  assert.equal(found(checks, 'Redis')?.found, 'Redis: ECONNREFUSED');
});

test('rollcall doctor fails, and ends, where the sentinels of Redis do not answer', async () => {
  const { code, checks } = await doctor({
    ROLLCALL_REDIS_URL: 'redis://127.0.0.1:1?sentinel=main&connect_timeout_ms=200&timeout_ms=200',
  });
  assert.equal(code, 1);
  assert.equal(found(checks, 'Redis')?.outcome, 'failed');
  assert.match(`${found(checks, 'Redis')?.advice}`, /ROLLCALL_REDIS_URL/);
});

describe('rollcall doctor, of PostgreSQL and Redis', { skip: skipsPostgres || (await skipsRedis()) }, () => {
  test('rollcall doctor reports the versions, clocks and schema of PostgreSQL and Redis', () =>
    withDatabase(async (databaseUrl) => {
      const { code, checks } = await doctor({
        ROLLCALL_DATABASE_URL: databaseUrl,
        ROLLCALL_REDIS_URL: freshRedisUrl(),
      });
      assert.deepEqual(outcomes(checks), [
        'Node: ok',
        'clock: ok',
        'PostgreSQL: ok',
        'PostgreSQL clock: ok',
        'Redis: ok',
        'Redis clock: ok',
        'store: ok',
        'server: skipped',
      ]);
      assert.equal(code, 0);
      const { pathname } = new URL(databaseUrl);
      assert.match(`${found(checks, 'PostgreSQL')?.found}`, new RegExp(`^\\d+\\.\\d+ at \\S+${pathname}, `));
      assert.match(`${found(checks, 'Redis')?.found}`, /^(?:Valkey )?\d+\.\d+\.\d+ at \S+, not encrypted$/);
      assert.match(
        `${found(checks, 'store')?.found}`,
        /^undamaged, schema version 0, \d+ after the next start$/,
      );
    }));

  test('rollcall doctor fails where PostgreSQL and Redis do not answer, and prints no password', async () => {
    const { code, checks } = await doctor({
      ROLLCALL_DATABASE_URL: 'postgres://rollcall:hunter2@127.0.0.1:1/rollcall',
      ROLLCALL_REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
    });
    assert.equal(code, 1);
    for (const name of ['PostgreSQL', 'Redis', 'store'])
      assert.equal(found(checks, name)?.outcome, 'failed', name);
    assert.match(`${found(checks, 'PostgreSQL')?.advice}`, /ROLLCALL_DATABASE_URL/);
    assert.match(`${found(checks, 'Redis')?.advice}`, /ROLLCALL_REDIS_URL/);
    assert.ok(!JSON.stringify(checks).includes('hunter2'), JSON.stringify(checks));
  });

  test('rollcall doctor, config check and serve print no password of a URL, however it is written', () =>
    withDatabase(async (databaseUrl) => {
      const database = new URL(databaseUrl);
      const odd = `postgres://${database.username || 'postgres'}:hun@ter2@${database.host}${database.pathname}`;
      const { code, checks } = await doctor({ ROLLCALL_DATABASE_URL: odd });
      assert.equal(code, 0, JSON.stringify(checks));
      assert.match(
        `${found(checks, 'PostgreSQL')?.found}`,
        new RegExp(` at ${database.host.replaceAll('.', '\\.')}${database.pathname}, `),
      );
      assert.ok(!JSON.stringify(checks).includes('ter2'), JSON.stringify(checks));
      const [examine, check] = [['doctor'], ['config', 'check']];
      const cases = [
        ['ROLLCALL_REDIS_URL', 'redis://:hun?ter2@127.0.0.1:1', [examine, check, ['serve']]],
        [
          'ROLLCALL_DATABASE_URL',
          'postgres://u:hun?ter2@127.0.0.1:1/db',
          [examine, check, ['serve'], ['backup']],
        ],
        ['ROLLCALL_URL', 'http://u:hunter2@127.0.0.1:1', [examine]],
        ['ROLLCALL_URL', 'ftp://u:hunter2@127.0.0.1:1', [examine, ['export', '--token', 'x.y.z']]],
      ] as const;
      for (const [variable, url, commands] of cases)
        for (const args of commands) {
          const {
            code: failed,
            stdout,
            stderr,
          } = await rollcall(args, {
            env: { [variable]: url, ROLLCALL_PORT: '1' },
          });
          assert.notEqual(failed, 0, `${args} of ${url}`);
          assert.ok(!`${stdout}${stderr}`.includes('ter2'), `${args} of ${url}: ${stdout}${stderr}`);
        }
    }));

  test('rollcall doctor ends where it takes longer than Redis, whose sentinels it has left', {
    skip: skipsOwnRedis,
  }, async () => {
    const { url } = await startSentinelPair();
    await using server = createServer((_, response) => {
      // So long that a client which connects again has done so.
      setTimeout(() => response.end(), 1_500);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { checks } = await doctor({ ROLLCALL_REDIS_URL: url, ROLLCALL_URL: `http://127.0.0.1:${port}` });
    assert.equal(found(checks, 'Redis')?.outcome, 'ok');
  });

  test('rollcall doctor fails, and a server that starts warns, where Redis would evict presence', async () => {
    const server = await OwnRedis.start('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
    const { code, checks } = await doctor({ ROLLCALL_REDIS_URL: server.url });
    assert.equal(code, 1);
    assert.match(`${found(checks, 'Redis')?.found}`, /maxmemory-policy allkeys-lru$/);
    assert.match(`${found(checks, 'Redis')?.advice}`, /noeviction/);
    await withDataDir((dataDir) =>
      withServe(dataDir, ['--redis-url', server.url], async ({ process }) => {
        const [, level] = await process.output(
          /"level":(\d+).*maxmemory-policy allkeys-lru\. Set noeviction/,
        );
        assert.equal(level, '40');
      }),
    );
  });
});
