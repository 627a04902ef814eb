import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { headersOfProject, requestsTo } from '../cli/cli-process.ts';
import { closing } from '../support/closing.ts';
import { send } from '../support/http-client.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { SocketClient } from '../support/socket-client.ts';
import { ALLOWED, WebhookReceiver } from '../support/webhook-receiver.ts';
import {
  CLIENT,
  linesOf,
  OtlpReceiver,
  type ReceivedSpan,
  SERVER,
  stop,
  withServer,
} from './otlp-receiver.ts';

const skip = skipsPostgres || (await skipsRedis());

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** Nothing is sent before the server stops. */
const exportingTo = ({ url }: OtlpReceiver) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: '600000',
});

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name);
  assert.ok(found !== undefined, `no span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
};

const childrenOf = (spans: readonly ReceivedSpan[], { spanId }: ReceivedSpan) =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId);

suite('traces of a server', () => {
  test('a request is a span of the trace in its traceparent, which its log line names, and a server that stops sends it', () =>
    OtlpReceiver.with((receiver) =>
      withServer(exportingTo(receiver), async (server) => {
        const headers = { ...headersOfProject(), traceparent: TRACEPARENT, 'x-request-id': 'mine' };
        const answer = await send(server.url, 'GET', '/v1/groups/docs', { headers });
        assert.equal(answer.status, 401);
        const listed = await send(server.url, 'GET', '/v1/users?id=hidden', { headers: headersOfProject() });
        assert.equal(listed.status, 200);
        assert.equal(receiver.exports.length, 0);
        assert.equal(await stop(server), 0);
        const span = named(receiver.spans, 'GET /v1/groups/:id');
        assert.deepEqual([span.traceId, span.parentSpanId, span.kind], [TRACE, SPAN, SERVER]);
        assert.deepEqual(span.attributes, {
          'http.request.method': 'GET',
          'url.path': '/v1/groups/docs',
          'url.scheme': 'http',
          'rollcall.request_id': 'mine',
          'rollcall.error': 'group_not_found',
          'http.route': '/v1/groups/:id',
          'http.response.status_code': 401,
          'rollcall.project_id': 'staging',
        });
        const line = linesOf(server).find(({ msg }) => msg === 'request');
        assert.deepEqual([line?.trace_id, line?.span_id], [TRACE, span.spanId]);
        const [sent] = receiver.exports;
        assert.equal(sent?.path, '/v1/traces');
        assert.doesNotMatch(sent?.text ?? '', /hidden|Bearer|eyJ/);
      }),
    ));

  test('a list that is sent in pieces is a span with the status of its answer', () =>
    OtlpReceiver.with((receiver) =>
      withServer(exportingTo(receiver), async (server) => {
        const headers = headersOfProject();
        const users = Array.from({ length: 1_000 }, (_, index) => ({
          id: `${index}`,
          name: 'x'.repeat(200),
        }));
        assert.equal((await requestsTo(server.url)('POST', '/v1/batch', { users })).status, 200);
        const listed = await send(server.url, 'GET', '/v1/users?limit=1000', { headers });
        assert.equal(listed.headers['transfer-encoding'], 'chunked');
        assert.equal(await stop(server), 0);
        const { attributes } = named(receiver.spans, 'GET /v1/users');
        assert.deepEqual(
          [attributes['http.response.status_code'], attributes['error.type']],
          [200, undefined],
        );
      }),
    ));

  test('reads and writes of the embedded store are spans below that of their request, also behind a body', () =>
    OtlpReceiver.with((receiver) =>
      withServer(exportingTo(receiver), async (server) => {
        const request = requestsTo(server.url);
        assert.equal((await request('PUT', '/v1/users/ann', { name: 'Ann' })).status, 200);
        assert.equal((await request('GET', '/v1/users/ann')).status, 200);
        assert.equal(await stop(server), 0);
        const write = named(receiver.spans, 'PUT /v1/users/:id');
        const read = named(receiver.spans, 'GET /v1/users/:id');
        assert.notEqual(write.traceId, read.traceId);
        for (const [span, call] of [
          [write, 'store write'],
          [read, 'store read'],
        ] as const) {
          const child = named(childrenOf(receiver.spans, span), call);
          assert.equal(child.traceId, span.traceId);
          assert.equal(child.kind, CLIENT);
          assert.deepEqual(child.attributes, { 'db.system.name': 'sqlite' });
        }
      }),
    ));

  test('calls of PostgreSQL and Redis are spans below that of their request', { skip }, () =>
    withDatabase((databaseUrl) =>
      OtlpReceiver.with((receiver) => {
        const env = { ROLLCALL_DATABASE_URL: databaseUrl, ROLLCALL_REDIS_URL: freshRedisUrl() };
        return withServer({ ...env, ...exportingTo(receiver) }, async (server) => {
          const request = requestsTo(server.url);
          await request('PUT', '/v1/users/ann', { name: 'Ann' });
          await request('PUT', '/v1/groups/docs', { name: 'Docs', members: ['ann'] });
          const presence = { groupID: 'docs', location: { page: 'intro' } };
          assert.equal((await request('PUT', '/v1/users/ann/presence', presence)).status, 200);
          assert.equal(await stop(server), 0);
          const write = named(receiver.spans, 'PUT /v1/users/:id');
          const stored = named(childrenOf(receiver.spans, write), 'store write');
          assert.deepEqual(stored.attributes, { 'db.system.name': 'postgresql' });
          const update = named(receiver.spans, 'PUT /v1/users/:id/presence');
          const called = named(childrenOf(receiver.spans, update), 'redis presence');
          assert.deepEqual(called.attributes, { 'db.system.name': 'redis' });
        });
      }),
    ),
  );

  test(
    'a request has spans of its first 100 calls, and the number of those that are left out',
    { skip },
    () =>
      OtlpReceiver.with((receiver) => {
        const env = { ROLLCALL_REDIS_URL: freshRedisUrl(), ...exportingTo(receiver) };
        return withServer(env, async (server) => {
          const request = requestsTo(server.url);
          await request('PUT', '/v1/users/ann', { name: 'Ann' });
          await request('PUT', '/v1/groups/docs', { name: 'Docs', members: ['ann'] });
          const updates = Array.from({ length: 120 }, (_, page) => ({
            ...{ userID: 'ann', groupID: 'docs' },
            location: { page: `${page % 90}` },
          }));
          assert.equal((await request('PUT', '/v1/presence', { updates })).status, 200);
          assert.equal(await stop(server), 0);
          const span = named(receiver.spans, 'PUT /v1/presence');
          assert.equal(childrenOf(receiver.spans, span).length, 100);
          assert.ok(Number(span.attributes['rollcall.calls_left_out']) >= 20);
          const other = named(receiver.spans, 'PUT /v1/groups/:id');
          assert.equal(other.attributes['rollcall.calls_left_out'], undefined);
        });
      }),
  );

  test('an attempt to deliver a webhook is a trace of its own, without the path of its URL', async () => {
    await using hooks = closing(await WebhookReceiver.open());
    await OtlpReceiver.with((receiver) =>
      withServer({ ...exportingTo(receiver), ROLLCALL_WEBHOOKS_ALLOW: ALLOWED }, async (server) => {
        const request = requestsTo(server.url);
        await request('PUT', '/v1/webhooks/copy', { url: `${hooks.url}hidden-secret` });
        await request('PUT', '/v1/users/ann', { name: 'Ann' });
        const [delivered] = await hooks.requests(1);
        await server.process.output(/"path":"\/v1\/users\/ann"/);
        assert.equal(await stop(server), 0);
        const span = named(receiver.spans, 'POST webhook');
        assert.equal(span.parentSpanId, undefined);
        assert.deepEqual(span.attributes, {
          'http.request.method': 'POST',
          'server.address': '127.0.0.1',
          'server.port': hooks.port,
          'rollcall.webhook_id': delivered?.id,
          'http.response.status_code': 204,
        });
        assert.doesNotMatch(receiver.exports.map(({ text }) => text).join(''), /hidden-secret/);
      }),
    );
  });

  test('a socket has a span for its upgrade, whose trace is in the log', () =>
    OtlpReceiver.with((receiver) =>
      withServer(exportingTo(receiver), async (server) => {
        await SocketClient.open(server.url, { traceparent: TRACEPARENT });
        assert.equal(await stop(server), 0);
        const span = named(receiver.spans, 'GET /v1/client/socket');
        assert.deepEqual([span.traceId, span.attributes['http.response.status_code']], [TRACE, 101]);
        const traces = linesOf(server)
          .filter(({ msg, path }) => path === '/v1/client/socket' || msg === 'a socket has closed')
          .map(({ trace_id }) => trace_id);
        assert.deepEqual(traces, [TRACE, TRACE]);
      }),
    ));

  test('the variables of OpenTelemetry name the service, its resource, the headers and the sampler', () =>
    OtlpReceiver.with((receiver) => {
      const env = {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/own/path`,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=acme',
        OTEL_SERVICE_NAME: 'directory',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0',
      };
      return withServer(env, async (server) => {
        const invalid = { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` };
        for (const headers of [{}, invalid, { traceparent: TRACEPARENT }])
          assert.equal((await send(server.url, 'GET', '/healthz', { headers })).status, 200);
        assert.equal(await stop(server), 0);
        const [sent] = receiver.exports;
        assert.deepEqual([sent?.path, sent?.headers['x-tenant']], ['/own/path', 'acme']);
        assert.equal(sent?.resource['service.name'], 'directory');
        assert.equal(sent?.resource['deployment.environment.name'], 'staging');
        assert.deepEqual(
          receiver.spans.map(({ name, traceId }) => [name, traceId]),
          [['GET /healthz', TRACE]],
        );
        assert.ok(!linesOf(server).some(({ level }) => level >= 40));
      });
    }));
});

suite('variables of OpenTelemetry that are not understood', () => {
  const warningsOf = (env: Record<string, string>) =>
    withServer(env, async (server) => {
      assert.equal((await send(server.url, 'GET', '/healthz')).status, 200);
      assert.equal(await stop(server), 0);
      return linesOf(server).flatMap(({ level, msg }) => (level >= 40 ? [msg] : []));
    });

  test('bad values of the sampler, the queue and the timeout are warnings, and traces are sent with the defaults', () =>
    OtlpReceiver.with(async (receiver) => {
      const warnings = await warningsOf({
        ...exportingTo(receiver),
        OTEL_TRACES_SAMPLER: 'sometimes',
        OTEL_BSP_MAX_QUEUE_SIZE: 'many',
        OTEL_EXPORTER_OTLP_TIMEOUT: 'long',
      });
      assert.equal(warnings.length, 3);
      for (const name of ['OTEL_TRACES_SAMPLER', 'OTEL_BSP_MAX_QUEUE_SIZE', 'OTEL_EXPORTER_OTLP_TIMEOUT'])
        assert.ok(
          warnings.some((line) => line.includes(name)),
          name,
        );
      named(receiver.spans, 'GET /healthz');
    }));

  test('a malformed URL of the receiver is a warning, without the password in it', async () => {
    const warnings = await warningsOf({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://rollcall:hidden/secret@receiver',
    });
    assert.match(warnings[0] ?? '', /URL: 'http:\/\/…@receiver'/);
    assert.doesNotMatch(warnings.join(), /hidden|secret/);
  });

  test('a ratio that is not from 0 to 1 is a warning', () =>
    OtlpReceiver.with(async (receiver) => {
      const env = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' };
      const [warning] = await warningsOf({ ...exportingTo(receiver), ...env });
      assert.match(warning ?? '', /OTEL_TRACES_SAMPLER_ARG is "7"/);
      named(receiver.spans, 'GET /healthz');
    }));

  test('an exporter other than otlp is a warning, and nothing is sent', () =>
    OtlpReceiver.with(async (receiver) => {
      const warnings = await warningsOf({ ...exportingTo(receiver), OTEL_TRACES_EXPORTER: 'console' });
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? '', /OTEL_TRACES_EXPORTER/);
      assert.equal(receiver.exports.length, 0);
    }));
});

suite('a server without traces', () => {
  const hook = pathToFileURL(join(import.meta.dirname, 'loaded-packages.mjs')).href;

  /** The modules of OpenTelemetry that a server with these variables loads. */
  const loaded = (env: Record<string, string>) =>
    withServer({ NODE_OPTIONS: `--import=${hook}`, ...env }, async (server) => {
      assert.equal((await send(server.url, 'GET', '/healthz')).status, 200);
      server.process.signal('SIGTERM');
      const { code, stderr } = await server.process.ended;
      assert.equal(code, 0);
      return [...stderr.matchAll(/^loaded (\S+)$/gm)].length;
    });

  test('a server loads packages of OpenTelemetry only where its variables request traces', () =>
    OtlpReceiver.with(async (receiver) => {
      assert.equal(await loaded({ OTEL_SERVICE_NAME: 'directory' }), 0);
      assert.equal(await loaded({ ...exportingTo(receiver), OTEL_SDK_DISABLED: 'true' }), 0);
      assert.equal(await loaded({ ...exportingTo(receiver), OTEL_TRACES_EXPORTER: 'none' }), 0);
      assert.equal(receiver.exports.length, 0);
      assert.ok((await loaded(exportingTo(receiver))) > 0);
    }));
});
