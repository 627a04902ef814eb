import type { IncomingMessage } from 'node:http';
import type { RequestSpan } from '../tracing/request-span.ts';
import { readTraceparent } from '../tracing/traceparent.ts';

/** The trace that a request is a part of. The names are those of OpenTelemetry for logs in JSON. */
export interface LoggedTrace {
  readonly trace_id?: string;
  /** The span of the request; absent while traces are off. */
  readonly span_id?: string;
}

/** The fields that name a request in every line that is logged for it. */
export interface LoggedRequest extends LoggedTrace {
  readonly reqId: string;
}

/** The trace of a request's span; without one, that of the caller's `traceparent`, if that is valid. */
export function loggedTrace(
  { headers }: Pick<IncomingMessage, 'headers'>,
  span: RequestSpan | null,
): LoggedTrace {
  if (span !== null) return { trace_id: span.traceId, span_id: span.spanId };
  const parent = readTraceparent(headers.traceparent);
  return parent === null ? NO_TRACE : { trace_id: parent.traceId };
}

const NO_TRACE: LoggedTrace = Object.freeze({});
