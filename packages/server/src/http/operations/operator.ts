/** Health, metrics and the API description. */
import { constant, object, text } from '@rollcall/protocol';
import { stopping, unavailable } from '../error-answer.ts';
import { operationsOf } from '../operation.ts';

const operation = operationsOf('none', {
  name: 'operation',
  description: 'Health, metrics and this description. Needs no token.',
});

const OK = object({ status: constant('ok', { description: 'always "ok"' }) });
const OK_TEXT = '{"status":"ok"}';

const healthz = operation('GET /healthz', {
  id: 'healthz',
  summary: 'Whether the process is alive',
  answer: { schema: OK, description: 'It is.', example: { status: 'ok' } },
  handle: () => OK_TEXT,
});

const readyz = operation('GET /readyz', {
  id: 'readyz',
  summary: 'Whether the engine answers',
  answer: { schema: OK, description: 'Requests can be served.', example: { status: 'ok' } },
  unavailable: 'A part of the engine does not answer; the message names it.',
  async handle(_exchange, { readiness }) {
    if (readiness.isStopping) throw stopping();
    const failing = await readiness.failing();
    if (failing.length > 0) throw unavailable(failing.join(', '));
    return OK_TEXT;
  },
});

const metrics = operation('GET /metrics', {
  id: 'metrics',
  summary: 'Metrics in the text format of Prometheus',
  answer: {
    schema: text(),
    type: 'text/plain',
    description: 'Metrics of the requests and of the process.',
    example:
      '# TYPE rollcall_http_request_duration_seconds histogram\n' +
      'rollcall_http_request_duration_seconds_bucket{method="GET",route="/v1/groups/:id",status="200",le="0.001"} 412\n',
  },
  async handle(exchange, { metrics }) {
    const { contentType, text } = await metrics();
    exchange.contentType = contentType;
    return text();
  },
});

const openapi = operation('GET /openapi.json', {
  id: 'openapi',
  summary: 'This description of the API, for programs',
  answer: {
    schema: { type: 'object' },
    description: 'An OpenAPI 3.1 document.',
    example: { openapi: '3.1.1', info: { title: 'Rollcall', version: '0.1.0' }, paths: {} },
  },
  handle: (_exchange, { apiDescription }) => apiDescription.document(),
});

const docs = operation('GET /docs', {
  id: 'docs',
  summary: 'This description of the API, for people',
  answer: {
    schema: text(),
    type: 'text/html',
    description: 'A page of HTML that needs nothing but this server.',
    example: '<!doctype html>…',
  },
  async handle(exchange, { apiDescription }) {
    const { bytes, securityPolicy } = await apiDescription.page();
    exchange.contentType = 'text/html; charset=utf-8';
    exchange.setHeaders({
      'content-security-policy': securityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    return bytes;
  },
});

export const operatorOperations = [openapi, docs, healthz, readyz, metrics];
