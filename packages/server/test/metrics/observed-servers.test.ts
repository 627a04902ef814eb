/** What running servers expose under real load, on both engines, as promtool, docs/metrics.md and a real Prometheus read it. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { suite, test } from 'node:test';
import type { Settings } from '../../src/config/settings.ts';
import { readPage } from '../docs/markdown.ts';
import { expectDone } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { withDatabase } from '../support/postgres.ts';
import { isRequired } from '../support/programs.ts';
import { Project } from '../support/project-client.ts';
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
const SHARED = ENGINES[1];
/** How the labels of `rollcall_build_info` call their store and presence. */
const NAMES = {
  embedded: 'store="embedded",presence="embedded"',
  [SHARED]: 'store="postgresql",presence="redis"',
} as const;

interface Observed {
  readonly url: string;
  readonly load: Load;
  readonly settings: Partial<Settings>;
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

/** The value of a sample, such as `rollcall_store_errors_total{kind="read"}`. */
const sampleOf = (text: string, name: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length),
  );

/** The samples that are above 0 on both engines. A broker publishes also where no other process receives. */
const COUNTED = [
  'rollcall_presence_events_received_total',
  'rollcall_presence_events_sent_total',
  'rollcall_presence_event_writes_total',
  'rollcall_broker_messages_total{direction="published",type="profiles"}',
  'rollcall_broker_messages_total{direction="published",type="changes"}',
  'rollcall_store_write_wait_seconds_sum',
  'rollcall_store_write_wait_seconds_count',
  'rollcall_store_duration_seconds_sum{kind="read"}',
  'rollcall_store_duration_seconds_sum{kind="write"}',
  'rollcall_store_connections_limit{pool="snapshots"}',
];
/** The series that are above 0 on one engine only. */
const COUNTED_ON = {
  embedded: ['rollcall_store_batch_size_count{kind="write"}'],
  [SHARED]: [
    'rollcall_store_batch_size_count{kind="read"}',
    'rollcall_store_connections_open{pool="reads"}',
    'rollcall_store_connections_open{pool="writes"}',
    'rollcall_store_connections_limit{pool="reads"}',
    'rollcall_store_connections_limit{pool="writes"}',
    'rollcall_redis_batch_size_count',
    'rollcall_redis_duration_seconds_sum{client="presence"}',
    'rollcall_redis_duration_seconds_sum{client="broker"}',
  ],
};

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
            embedded: { url: one.url, load: first, settings: embedded },
            [SHARED]: { url: other.url, load: second, settings: shared },
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
      const counted = [...COUNTED, ...COUNTED_ON[engine]];
      assert.deepEqual(
        counted.filter((name) => !(sampleOf(text, name) > 0)),
        [],
      );
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

    test(`the version in rollcall_build_info of ${engine} is the one of package.json`, async () => {
      const { version } = JSON.parse(readPage('package.json'));
      const labels = `version="${version}",node_version="${process.version}",${NAMES[engine]}`;
      const text = await textOf(observed.value[engine]);
      assert.ok(text.includes(`\nrollcall_build_info{${labels}} 1\n`), text);
    });

    test(`the webhook that fails is found to rest and to be behind, of ${engine}, and the records of changes are counted`, () =>
      until('the webhook to rest', async () => {
        const text = await textOf(observed.value[engine]);
        const state = (name: string) => text.includes(`rollcall_webhooks{state="${name}"} 1\n`);
        const records = sampleOf(text, 'rollcall_changes_records');
        const isBehind = state('behind') && sampleOf(text, 'rollcall_webhooks_behind_records') >= 1;
        return state('resting') && isBehind && text.includes('{state="active"} 2\n') && records >= 8;
      }));
  }

  test('a message that another process publishes is counted as received', async () => {
    const target = observed.value[SHARED];
    const { id, secret, token } = target.load.project;
    await withServer({ settings: target.settings }, async (other) => {
      const project = new Project(other.url, id, secret, token);
      expectDone(await project.put('/v1/users/u0', { name: 'by another process' }));
      const name = 'rollcall_broker_messages_total{direction="received",type="profiles"}';
      const received = async () => sampleOf(await textOf(target), name) > 0;
      await until('the message to be received', received);
      project.close();
    });
  });

  test('each query of the dashboard gives a series in a real Prometheus, and so does each recording rule', async () => {
    const { embedded, [SHARED]: shared } = observed.value;
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
