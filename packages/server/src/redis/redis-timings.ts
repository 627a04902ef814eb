import { Counter, type CounterSeries, Histogram, type Metric, readMetrics } from '../metrics/metric.ts';
import { requestSpan, type TracedCall } from '../tracing/request-span.ts';

/** Which driver a connection is of. */
export type RedisUser = 'presence' | 'broker';

/** The calls of one connection to Redis. */
export class RedisTimings {
  readonly metrics: readonly Metric[];
  readonly #duration;
  readonly #errors: CounterSeries;
  readonly #call: TracedCall;

  constructor(user: RedisUser, isConnected: () => boolean) {
    const labels = { client: user };
    this.#call = { name: `redis ${user}`, system: 'redis' };
    const durations = new Histogram({
      name: 'rollcall_redis_duration_seconds',
      help: 'How long calls of Redis took',
    });
    const errors = new Counter({ name: 'rollcall_redis_errors_total', help: 'Calls of Redis that failed' });
    this.#duration = durations.series(labels);
    this.#errors = errors.series(labels);
    const connected = () => [{ labels, value: Number(isConnected()) }];
    this.metrics = [
      ...[durations, errors],
      ...readMetrics({ rollcall_redis_connected: ['Whether there is a connection to Redis', connected] }),
    ];
  }

  /**
   * A call that began at a time of `performance.now()` has ended, and failed where there is an error. A server that does not
   * know a script yet gets its text; that is no failure.
   */
  ended(begun: number, error?: unknown): void {
    const now = performance.now();
    const failure = (error as Error | undefined)?.message.startsWith('NOSCRIPT') ? undefined : error;
    this.#duration.observe((now - begun) / 1_000);
    if (failure !== undefined) this.#errors.value += 1;
    requestSpan()?.add(this.#call, begun, now, failure);
  }
}
