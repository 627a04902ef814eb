import type { RequestSpan } from './request-span.ts';
import type { ParentSpan } from './traceparent.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The traces of a process. Where they are off, there is none. */
export interface Tracing {
  request(received: ReceivedRequest): ServerSpan;
  /** Adds the span of an attempt to deliver a webhook, as a trace of its own: no request waits for it. */
  attempt(attempt: DeliveryAttempt): void;
  /** Sends the spans that wait, and ends. False where the receiver did not take them in time; they are lost then. */
  close(): Promise<boolean>;
}

export interface ReceivedRequest {
  /** The span of the caller, from its `traceparent`. */
  readonly parent: ParentSpan | null;
  readonly id: string;
  readonly method: string;
  /** Without the query, which can contain personal data. */
  readonly path: string;
  /** A time of `performance.now()`. */
  readonly begun: number;
}

export interface ServerSpan extends RequestSpan {
  /** The answer is an error with this code. */
  failed(code: string): void;
  /** Ends the span. Only the first end counts. */
  end(answer: Answer): void;
}

export interface Answer {
  /** The path of the operation, with the names of parameters; null where no operation takes the request. */
  readonly route: string | null;
  /** Null where the connection ended before the answer. */
  readonly status: number | null;
  readonly projectId?: string | undefined;
}

export interface DeliveryAttempt {
  readonly begun: number;
  /** The value of `webhook-id`. */
  readonly id: string;
  /** The receiver's; its path is left out, because it can contain a secret. */
  readonly url: string;
  readonly status: number | null;
  readonly error: string | null;
}
