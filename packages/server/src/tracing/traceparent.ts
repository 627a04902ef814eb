/** The span of the caller that a request belongs to (W3C Trace Context). */
export interface ParentSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** The bit 0 is set where the caller records the trace. */
  readonly flags: number;
}

/** Versions after 00 may append fields, which are ignored. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-|$)/;

/**
 * The header `traceparent`; null where it is absent or invalid, as the specification requires. Node joins a header that is
 * sent twice with a comma, which is invalid.
 */
export function readTraceparent(header: string | string[] | undefined): ParentSpan | null {
  if (typeof header !== 'string') return null;
  const [, version, traceId = '', spanId = '', flags = '', end] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || (version === '00' && end !== '')) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
