/** What running servers expose under real load, on both engines, as promtool, docs/metrics.md and a real Prometheus read it. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readPage } from '../docs/markdown.ts';
import { send } from '../support/http-client.ts';
import { withDatabase } from '../support/postgres.ts';
import { isRequired } from '../support/programs.ts';
import { freshRedisUrl } from '../support/redis.ts';
import { withServer } from '../support/server.ts';
import { absentServers } from '../support/servers.ts';
import { suiteResource } from '../support/suite-resource.ts';
import { until } from '../support/waiting.ts';
import { ALLOWED } from '../support/webhook-receiver.ts';
import { documentedMetrics, exposedMetrics } from './exposed-metrics.ts';
import { Load } from './load.ts';
import { type Prometheus, promtool, skipsPrometheus, withPrometheus } from './prometheus.ts';

const ENGINES = ['embedded', 'PostgreSQL and Redis'] as const;

interface Observed {
  readonly url: string;
  readonly load: Load;
}

const absent = await absentServers();
const isNeeded = isRequired('postgres') || isRequired('redis');
const skip = absent.length > 0 && !isNeeded ? absent.join('; ') : skipsPrometheus;

/** What Grafana puts in. */
const filled = (query: string) =>
  query.replaceAll('$job', 'rollcall').replaceAll('$instance', '.*').replaceAll('$__rate_interval', '30s');

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const queries: readonly string[] = JSON.parse(readPage('deploy/grafana/rollcall.json')).panels.flatMap(
  ({ targets = [] }: Panel) => targets.map(({ expr }) => filled(expr)),
);

/** A scrape. One right after another finds nothing new about the event loop, and is repeated. */
async function textOf({ url }: Observed): Promise<string> {
  let text = '';
  await until('the event loop to be observed', async () => {
    text = (await send(url, 'GET', '/metrics')).text;
    return /^nodejs_eventloop_lag_p99_seconds /m.test(text);
  });
  return text;
}

/** A value of a metric without labels. */
const sampleOf = (text: string, name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);

suite('the metrics of running servers', { skip }, () => {
  /** A server on each engine, with load. */
  const observed = suiteResource<Readonly<Record<(typeof ENGINES)[number], Observed>>>((use) =>
    withDatabase((databaseUrl) => {
      const embedded = { webhooksAllow: ALLOWED, databaseUrl: null, redisUrl: null };
      const shared = { webhooksAllow: ALLOWED, databaseUrl, redisUrl: freshRedisUrl() };
      return withServer({ settings: embedded }, (one) =>
        withServer({ settings: shared }, async (other) => {
          await using first = await Load.on(one);
          await using second = await Load.on(other);
          for (const load of [first, second]) {
            await load.round();
            await load.isObserved();
          }
          await use({
            embedded: { url: one.url, load: first },
            'PostgreSQL and Redis': { url: other.url, load: second },
          });
        }),
      );
    }),
  );

  for (const engine of ENGINES) {
    test(`promtool finds nothing wrong with the metrics of ${engine}`, async () => {
      const { isFine, printed } = promtool(['check', 'metrics'], await textOf(observed.value[engine]));
      assert.ok(isFine && printed === '', printed);
    });

    test(`docs/metrics.md has each metric of ${engine}, its type and its labels, and no other`, async () => {
      const exposed = exposedMetrics(await textOf(observed.value[engine]));
      const documented = Object.entries(documentedMetrics()).filter(
        ([name]) => engine !== 'embedded' || !name.startsWith('rollcall_redis_'),
      );
      assert.ok(documented.length > 40);
      assert.deepEqual(exposed, Object.fromEntries(documented.toSorted()), 'the page and /metrics');
    });

    test(`the load is counted in the metrics of ${engine}`, async () => {
      const target = observed.value[engine];
      // What came from the engine may be some seconds old.
      await until('the presence to be counted', async () => {
        await target.load.round();
        const text = await textOf(target);
        return sampleOf(text, 'rollcall_presences') === 12 && sampleOf(text, 'rollcall_present_groups') === 1;
      });
      const text = await textOf(target);
      assert.equal(sampleOf(text, 'rollcall_sockets'), 1);
      assert.equal(sampleOf(text, 'rollcall_presence_streams'), 1);
      assert.ok(sampleOf(text, 'rollcall_presence_events_received_total') >= 1);
      assert.match(
        text,
        /^rollcall_http_errors_total\{method="GET",route="\/v1\/groups\/:id",code="group_not_found"\} \d/m,
      );
      assert.match(text, /^rollcall_streams\{kind="presence"\} 1$/m);
      assert.match(text, /^rollcall_webhook_attempts_total\{outcome="failed"\} [1-9]/m);
      assert.match(text, /^rollcall_webhook_attempts_total\{outcome="acknowledged"\} [1-9]/m);
      assert.match(text, /^rollcall_store_duration_seconds_count\{kind="write"\} [1-9]/m);
      assert.match(text, /^rollcall_store_errors_total\{kind="write"\} 0$/m);
      const age = Date.now() / 1_000 - sampleOf(text, 'rollcall_changes_oldest_timestamp_seconds');
      assert.ok(age >= 0 && age < 3_600, `the oldest record is ${age} seconds old`);
    });

    test(`the webhook that fails is found to rest, of ${engine}, and the records of changes are counted`, () =>
      until('the webhook to rest', async () => {
        const text = await textOf(observed.value[engine]);
        const state = (name: string) => text.includes(`rollcall_webhooks{state="${name}"} 1\n`);
        const records = sampleOf(text, 'rollcall_changes_records');
        return state('resting') && state('behind') && text.includes('{state="active"} 2\n') && records >= 8;
      }));
  }

  test('each query of the dashboard gives a series in a real Prometheus, and so does each recording rule', async () => {
    const { embedded, 'PostgreSQL and Redis': shared } = observed.value;
    await withPrometheus([embedded.url, shared.url], async (prometheus) => {
      assert.ok(queries.length > 40);
      const rules = await prometheus.rules();
      const alerts = rules.filter(({ state }) => state !== undefined);
      const records = rules.filter(({ state }) => state === undefined).map(({ name }) => name);
      assert.ok(records.length > 5 && alerts.length > 10);
      let missing = [...queries, ...records];
      const isEachFound = async () => {
        await Promise.all([embedded.load.round(), shared.load.round()]);
        missing = await withoutSeries(prometheus, missing);
        return missing.length === 0;
      };
      await until('a series for each query', isEachFound).catch((error) => {
        throw new Error(`no series: ${missing.join('\n')}`, { cause: error });
      });
      for (const { name, health, lastError, state } of await prometheus.rules()) {
        assert.equal(health, 'ok', `${name}: ${lastError}`);
        assert.notEqual(state, 'firing', name);
      }
    });
  });
});

/** The queries that have no series with a number. */
async function withoutSeries(prometheus: Prometheus, all: readonly string[]): Promise<string[]> {
  const found = await Promise.all(all.map((query) => prometheus.query(query)));
  return all.filter((_, index) => !found[index]?.some(({ value }) => Number.isFinite(Number(value[1]))));
}
