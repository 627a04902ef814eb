import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { altered, send as inject, withApp } from '../http/app-case.ts';
import { damageStore } from '../support/engine.ts';
import { send } from '../support/http-client.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { withServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';

const EMBEDDED = { databaseUrl: null, redisUrl: null };

async function metricsOf(url: string): Promise<string> {
  const { status, text } = await send(url, 'GET', '/metrics');
  assert.equal(status, 200);
  return text;
}

suite('metrics while a part of the engine fails', () => {
  test('reads that fail because of the store are counted, and so are their answers, by code', () =>
    withServer({ settings: EMBEDDED }, async (server) => {
      await damageStore(server.dataDir);
      // The reader may have a snapshot of before.
      await until(
        'the read to fail',
        async () => (await server.request('GET', '/v1/groups/g')).status === 500,
      );
      const text = await metricsOf(server.url);
      assert.match(text, /^rollcall_store_errors_total\{kind="read"\} [1-9]/m);
      assert.match(
        text,
        /^rollcall_http_errors_total\{method="GET",route="\/v1\/groups\/:id",code="error"\} [1-9]/m,
      );
    }));

  test('writes that fail because of the store are counted', () =>
    withServer({ settings: EMBEDDED }, async (server) => {
      await damageStore(server.dataDir);
      assert.equal((await server.request('PUT', '/v1/users/u', { body: {} })).status, 500);
      const text = await metricsOf(server.url);
      const [, writes] = /^rollcall_store_errors_total\{kind="write"\} (\d+)$/m.exec(text) ?? [];
      const [, reads] = /^rollcall_store_errors_total\{kind="read"\} (\d+)$/m.exec(text) ?? [];
      assert.ok(Number(writes) + Number(reads) >= 1, text);
    }));

  test('without Redis its values are absent and its connections are 0; with it they are back', {
    skip: skipsOwnRedis,
  }, async () => {
    await using redis = await OwnRedis.start();
    await withServer({ settings: { databaseUrl: null, redisUrl: redis.url } }, async ({ url }) => {
      assert.match(await metricsOf(url), /^rollcall_redis_connected\{client="presence"\} 1$/m);
      await redis.stop();
      await until('the loss to be noticed', async () => {
        const text = await metricsOf(url);
        return ['presence', 'broker'].every((client) =>
          text.includes(`rollcall_redis_connected{client="${client}"} 0\n`),
        );
      });
      await until('the values of Redis to be absent', async () => {
        const text = await metricsOf(url);
        return (
          !/^rollcall_presences \d/m.test(text) &&
          /^rollcall_redis_errors_total\{client="presence"\} [1-9]/m.test(text)
        );
      });
      await redis.start();
      await until('the values to be back', async () => {
        const text = await metricsOf(url);
        return (
          text.includes('rollcall_presences 0\n') &&
          text.includes('rollcall_redis_connected{client="presence"} 1\n')
        );
      });
    });
  });

  test('without the store the webhooks are absent that are behind; with it they are back', async () => {
    let isAway = false;
    const disturb = ({ store }: Engine) => ({
      store: altered(store, {
        webhookLeases: altered(store.webhookLeases, {
          work: (claim) =>
            isAway
              ? Promise.reject(new StoreUnavailableError('the store is away'))
              : store.webhookLeases.work(claim),
        }),
      }),
    });
    await withApp({ disturb }, async ({ app, clock }) => {
      const untilSearched = (what: string, isThere: boolean) =>
        until(what, async () => {
          clock.move(2_000);
          const { body } = await inject(app, '/metrics');
          return [/^rollcall_webhooks_behind_records 0$/m, /^rollcall_webhooks\{state="behind"\} 0$/m].every(
            (sample) => sample.test(body) === isThere,
          );
        });
      await untilSearched('the values', true);
      isAway = true;
      await untilSearched('the values to be absent', false);
      isAway = false;
      await untilSearched('the values to be back', true);
    });
  });

  test('however often the metrics are read, the engine is read once in five seconds', async () => {
    let counts = 0;
    const disturb = ({ presence }: Engine) => ({
      presence: altered(presence, {
        count: async () => {
          counts += 1;
          return { presences: 7, groups: 3 };
        },
      }),
    });
    await withApp({ disturb }, async ({ app, clock }) => {
      for (let scrapes = 0; scrapes < 20; scrapes += 1) {
        const { body } = await inject(app, '/metrics');
        assert.match(body, /^rollcall_presences 7$/m);
        assert.match(body, /^rollcall_present_groups 3$/m);
      }
      assert.equal(counts, 1);
      clock.move(5_000);
      await inject(app, '/metrics');
      assert.equal(counts, 2);
    });
  });
});
