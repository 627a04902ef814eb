import { AsyncLocalStorage } from 'node:async_hooks';

/** A kind of call that requests make of a store or of Redis. */
export interface TracedCall {
  readonly name: string;
  /** OpenTelemetry's name of the system that is called. */
  readonly system: 'sqlite' | 'postgresql' | 'redis';
}

export interface RequestSpan {
  readonly traceId: string;
  readonly spanId: string;
  /**
   * Adds the span of a call, whose times are of `performance.now()`. Calls that end after the answer are left out: a stream
   * makes calls for hours, and its request was answered when it began.
   */
  add(call: TracedCall, begun: number, ended: number, error?: unknown): void;
}

const spans = new AsyncLocalStorage<RequestSpan>();

/** Runs a part of a request, whose calls become spans of the request's trace. Null: traces are off. */
export const runWithin = <Result>(span: RequestSpan | null, part: () => Result): Result =>
  span === null ? part() : spans.run(span, part);

/** The request that the running code is a part of; undefined where it is part of none, or traces are off. */
export const requestSpan = (): RequestSpan | undefined => spans.getStore();
