/** Health, metrics and the API description. */

import { constant, exactly, list, maybe, meaning, object, oneOf, text } from '@rollcall/protocol';
import manifest from '../../../package.json' with { type: 'json' };
import { PORT_NAMES } from '../../core/readiness.ts';
import { stopping } from '../../core/service-error.ts';
import { METRICS_TYPE, metricsText } from '../../metrics/metrics-text.ts';
import { processMetrics } from '../../metrics/process-metrics.ts';
import { HEALTHY } from '../../wire/json-answer.ts';
import { addressOf } from '../connections/address-of.ts';
import { unavailable } from '../error-answer.ts';
import { operationsOf } from '../operation.ts';

const operation = operationsOf('none', {
  name: 'operation',
  description: 'Health, metrics and this description. Needs no token.',
});

const OK = object({ status: constant('ok', { description: 'always "ok"' }) });

const healthz = operation('GET /healthz', {
  id: 'healthz',
  summary: 'Whether the process is alive',
  description: 'Restart the process where this fails. It reads no store.',
  answer: { schema: OK, description: 'It is.', example: { status: 'ok' } },
  handle: () => HEALTHY,
});

/** Of the engine, as messages name them. */
const PARTS = PORT_NAMES.map((name) => `"${name}"`).join(' or ');

const ReadyzQuery = exactly({
  exclude: meaning(
    maybe(
      list(oneOf(PORT_NAMES, { description: PARTS }), {
        maxItems: PORT_NAMES.length,
        description: `at most ${PORT_NAMES.length} of ${PARTS}`,
      }),
    ),
    'A part of the engine that need not answer: `exclude=presence&exclude=broker` stays 200 while Redis is away.',
    { 'x-example': ['presence', 'broker'] },
  ),
});

const readyz = operation('GET /readyz', {
  id: 'readyz',
  summary: 'Whether the engine answers',
  description:
    'Send requests to the process only while this succeeds: the stores answer, and the process is not stopping.',
  query: ReadyzQuery,
  answer: { schema: OK, description: 'Requests can be served.', example: { status: 'ok' } },
  unavailable: 'A part of the engine does not answer, or the server is stopping; the message names which.',
  async handle({ query }, { readiness }) {
    if (readiness.isStopping) throw stopping();
    const failing = await readiness.failing(query.exclude);
    if (failing.length > 0) throw unavailable(failing.join(', '));
    return HEALTHY;
  },
});

const metrics = operation('GET /metrics', {
  id: 'metrics',
  summary: 'Metrics in the text format of Prometheus',
  description: 'For Prometheus and what reads its format.',
  answer: {
    schema: text(),
    type: 'text/plain',
    description: 'Metrics of the requests and of the process.',
    example:
      '# TYPE rollcall_http_request_duration_seconds histogram\n' +
      'rollcall_http_request_duration_seconds_bucket{method="GET",route="/v1/groups/:id",status="200",le="0.001"} 412\n',
  },
  handle(exchange, { metrics }) {
    exchange.contentType = METRICS_TYPE;
    return metricsText([...metrics, ...processMetrics()]);
  },
});

const openapi = operation('GET /openapi.json', {
  id: 'openapi',
  summary: 'This description of the API, for programs',
  description: 'For generators of clients, gateways and other programs.',
  answer: {
    schema: { type: 'object', additionalProperties: true },
    description: 'An OpenAPI 3.1 document.',
    example: { openapi: '3.1.1', info: { title: 'Rollcall', version: manifest.version }, paths: {} },
  },
  handle: (_exchange, { apiDescription }) => apiDescription.document(),
});

const asyncapi = operation('GET /asyncapi.json', {
  id: 'asyncapi',
  summary: 'A description of the socket and the streams, for programs',
  description:
    'The frames of `GET /v1/client/socket` in both directions, and the events of every stream. The schemas are those of `/openapi.json`.',
  answer: {
    schema: { type: 'object', additionalProperties: true },
    description: 'An AsyncAPI 3.0 document.',
    example: {
      asyncapi: '3.0.0',
      info: { title: 'Rollcall: socket and streams', version: manifest.version },
      channels: {},
    },
  },
  handle: (_exchange, { apiDescription }) => apiDescription.eventDocument(),
});

const docs = operation('GET /docs', {
  id: 'docs',
  summary: 'This description of the API, for people',
  description: 'Needs no other host and no token.',
  answer: {
    schema: text(),
    type: 'text/html',
    description: 'A page of HTML that needs nothing but this server.',
    example: '<!doctype html>…',
  },
  async handle(exchange, { apiDescription }) {
    const { textFor, securityPolicy } = await apiDescription.page();
    exchange.contentType = 'text/html; charset=utf-8';
    exchange.setHeaders({
      'content-security-policy': securityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    return textFor(addressOf(exchange.request));
  },
});

export const operatorOperations = [openapi, asyncapi, docs, healthz, readyz, metrics];
