import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { LoggedExporter } from './logged-exporter.ts';
import { batchOptions, samplerOf } from './otel-settings.ts';
import type { TracedCall } from './request-span.ts';
import type {
  Answer,
  DeliveryAttempt,
  Environment,
  ReceivedRequest,
  ServerSpan,
  Tracing,
} from './tracing.ts';

/** How long the end of the process waits for the receiver of the spans, in milliseconds. */
const FLUSH_MS = 3_000;
const ATTRIBUTE_MAX_LENGTH = 1_024;
/** Most spans of calls in one request: a large batch must not take the queue from other requests. */
const MOST_CALLS = 100;

/** Traces with the packages of OpenTelemetry, which read the variables of the exporter and of the resource themselves. */
export function openOtelTracing(environment: Environment, version: string, log: Logger): Tracing {
  // A URL that cannot be parsed is repeated by the packages. What is before its @ can be a password.
  const warn = (message: string) => log.warn(message.replace(/\/\/.*@/s, '//…@'));
  // What the packages report later repeats with every batch. The exporter's failures have their own line.
  diag.setLogger(diagnostics(warn), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const exporter = new LoggedExporter(new OTLPTraceExporter(), log);
  const provider = new TracerProvider({
    sampler: samplerOf(environment, warn),
    // A path can have the length of a whole head, and the queue holds thousands of spans.
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_MAX_LENGTH },
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'rollcall', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...batchOptions(environment, warn) })],
  });
  diag.disable();
  log.info('traces are on');
  return new OtelTracing(provider, version);
}

/** Only warnings and errors are read. */
const diagnostics = (warn: (message: string) => void) => {
  const ignore = () => {};
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
};

class OtelTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor(provider: TracerProvider, version: string) {
    this.#provider = provider;
    this.#tracer = provider.getTracer('rollcall', version);
  }

  request({ parent, id, method, path, begun }: ReceivedRequest): ServerSpan {
    const context =
      parent === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, {
            traceId: parent.traceId,
            spanId: parent.spanId,
            traceFlags: parent.flags,
            isRemote: true,
          });
    const attributes = {
      'http.request.method': method,
      'url.path': path,
      'url.scheme': 'http',
      'rollcall.request_id': id,
    };
    const options = { kind: SpanKind.SERVER, startTime: timeOf(begun), attributes };
    return new OtelServerSpan(this.#tracer, this.#tracer.startSpan(method, options, context), method);
  }

  attempt({ begun, id, url, status, error }: DeliveryAttempt): void {
    const attributes = {
      'http.request.method': 'POST',
      ...addressOf(url),
      'rollcall.webhook_id': id,
      ...(status !== null && { 'http.response.status_code': status }),
      ...(error !== null && { 'error.type': status === null ? 'no_answer' : String(status) }),
    };
    const options = { kind: SpanKind.CLIENT, startTime: timeOf(begun), attributes };
    const span = this.#tracer.startSpan('POST webhook', options, ROOT_CONTEXT);
    if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end(timeOf(performance.now()));
  }

  async close(): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, FLUSH_MS, false);
    const sent = this.#provider.shutdown().then(
      () => true,
      () => false,
    );
    const isSent = await Promise.race([sent, late]);
    clearTimeout(timer);
    return isSent;
  }
}

class OtelServerSpan implements ServerSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly #tracer: Tracer;
  readonly #method: string;
  /** Null after the end, so that a stream retains no span for as long as it is open. */
  #open: { readonly span: Span; readonly context: Context } | null;
  #calls = 0;

  constructor(tracer: Tracer, span: Span, method: string) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
    this.#tracer = tracer;
    this.#method = method;
    this.#open = { span, context: trace.setSpan(ROOT_CONTEXT, span) };
  }

  add({ name, system }: TracedCall, begun: number, ended: number, error?: unknown): void {
    if (this.#open === null || !this.#open.span.isRecording()) return;
    this.#calls += 1;
    if (this.#calls > MOST_CALLS) return;
    const attributes = { 'db.system.name': system };
    const options = { kind: SpanKind.CLIENT, startTime: timeOf(begun), attributes };
    const span = this.#tracer.startSpan(name, options, this.#open.context);
    if (error !== undefined) {
      span.setAttribute('error.type', error instanceof Error ? error.constructor.name : 'error');
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(timeOf(ended));
  }

  failed(code: string): void {
    this.#open?.span.setAttribute('rollcall.error', code);
  }

  end({ route, status, projectId }: Answer): void {
    if (this.#open === null) return;
    const { span } = this.#open;
    this.#open = null;
    if (route !== null) span.updateName(`${this.#method} ${route}`).setAttribute('http.route', route);
    if (projectId !== undefined) span.setAttribute('rollcall.project_id', projectId);
    if (this.#calls > MOST_CALLS) span.setAttribute('rollcall.calls_left_out', this.#calls - MOST_CALLS);
    if (status !== null) span.setAttribute('http.response.status_code', status);
    if (status === null || status >= 500) {
      span.setAttribute('error.type', status === null ? 'connection_closed' : String(status));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(timeOf(performance.now()));
  }
}

/** Nothing for a text that is no URL, of which the attempt has failed. */
function addressOf(url: string) {
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  const { hostname, port, protocol } = parsed;
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/** The time since the epoch, in milliseconds, of a time of `performance.now()`. */
const timeOf = (now: number) => performance.timeOrigin + now;
