import {
  Counter,
  type CounterSeries,
  Histogram,
  type HistogramSeries,
  type Metric,
  readMetrics,
  SIZES,
} from '../metrics/metric.ts';
import { requestSpan, type TracedCall } from '../tracing/request-span.ts';
import { ProjectGoneError } from '../values/engine-errors.ts';

/** The reads of a store, or its writes. */
export class OperationTimings {
  readonly #duration: HistogramSeries;
  readonly #errors: CounterSeries;
  readonly #call: TracedCall;

  constructor(duration: HistogramSeries, errors: CounterSeries, call: TracedCall) {
    this.#duration = duration;
    this.#errors = errors;
    this.#call = call;
  }

  async measure<Result>(run: () => Promise<Result>): Promise<Result> {
    const begun = performance.now();
    let failure: unknown;
    try {
      return await run();
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.ended(begun, failure);
    }
  }

  /**
   * An operation that began at a time of `performance.now()` has ended, and was rejected where there is an error. What the
   * store rejects with is counted, unless that is an error of the caller.
   */
  ended(begun: number, error?: unknown, request = requestSpan()): void {
    const now = performance.now();
    const failure = error instanceof ProjectGoneError ? undefined : error;
    this.#duration.observe((now - begun) / 1_000);
    if (failure !== undefined) this.#errors.value += 1;
    request?.add(this.#call, begun, now, failure);
  }
}

/** What each driver of the Store measures, under the same names. */
export class StoreTimings {
  readonly reads: OperationTimings;
  readonly writes: OperationTimings;
  /** How long a write waits before the engine begins it, in seconds. */
  readonly writeWaits: HistogramSeries;
  /** Writes of one commit, or reads of one statement, where several callers share it. */
  readonly readBatches: HistogramSeries;
  readonly writeBatches: HistogramSeries;
  readonly #metrics: readonly Metric[];

  constructor(system: TracedCall['system']) {
    const durations = new Histogram({
      name: 'rollcall_store_duration_seconds',
      help: 'How long reads and writes of the store took, with their waits',
    });
    const errors = new Counter({
      name: 'rollcall_store_errors_total',
      help: 'Reads and writes that failed because of the store',
    });
    const waits = new Histogram({
      name: 'rollcall_store_write_wait_seconds',
      help: 'How long writes waited before the store began them',
    });
    const batches = new Histogram(
      {
        name: 'rollcall_store_batch_size',
        help: 'Writes that shared a commit, or reads that shared a statement',
      },
      SIZES,
    );
    const timings = (kind: 'read' | 'write') =>
      new OperationTimings(durations.series({ kind }), errors.series({ kind }), {
        name: `store ${kind}`,
        system,
      });
    this.reads = timings('read');
    this.writes = timings('write');
    this.writeWaits = waits.series();
    this.readBatches = batches.series({ kind: 'read' });
    this.writeBatches = batches.series({ kind: 'write' });
    this.#metrics = [durations, errors, waits, batches];
  }

  /** The metrics of a store. `pending` counts the writes that wait or are being applied. */
  metrics(pending: () => number, pools: () => Readonly<Record<string, PoolUse>>): Metric[] {
    const ofPools = (use: keyof PoolUse) => () =>
      Object.entries(pools()).map(([pool, uses]) => ({ labels: { pool }, value: uses[use] }));
    return [
      ...this.#metrics,
      ...readMetrics({
        rollcall_store_writes_pending: ['Writes that wait for the store or are being applied', pending],
        rollcall_store_connections_busy: ['Connections to the store in use, by pool', ofPools('busy')],
        rollcall_store_connections_open: ['Connections to the store, by pool', ofPools('open')],
        rollcall_store_connections_limit: ['Most connections to the store, by pool', ofPools('limit')],
        rollcall_store_connections_awaited: [
          'Callers that wait for a connection, by pool',
          ofPools('awaited'),
        ],
      }),
    ];
  }
}

export interface PoolUse {
  readonly busy: number;
  readonly open: number;
  readonly limit: number;
  /** How many callers wait for one. */
  readonly awaited: number;
}
