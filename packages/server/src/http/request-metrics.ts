import {
  Counter,
  type CounterSeries,
  Histogram,
  type HistogramSeries,
  type Labels,
} from '../metrics/metric.ts';

export class RouteSeries {
  readonly #metrics: RequestMetrics;
  readonly #labels: Labels;
  readonly #byStatus = new Map<number, HistogramSeries>();
  readonly #byCode = new Map<string, CounterSeries>();

  constructor(metrics: RequestMetrics, labels: Labels) {
    this.#metrics = metrics;
    this.#labels = labels;
  }

  observe(status: number, milliseconds: number): void {
    let series = this.#byStatus.get(status);
    if (series === undefined) {
      series = this.#metrics.durations.series({ ...this.#labels, status: String(status) });
      this.#byStatus.set(status, series);
    }
    series.observe(milliseconds / 1_000);
  }

  /** An answer with an error of the contract. */
  failed(code: string): void {
    let series = this.#byCode.get(code);
    if (series === undefined) {
      series = this.#metrics.errors.series({ ...this.#labels, code });
      this.#byCode.set(code, series);
    }
    series.value += 1;
  }
}

/** The requests of an application. Bounded by its operations, the statuses and the table of errors: callers make up no label. */
export class RequestMetrics {
  readonly durations = new Histogram({
    name: 'rollcall_http_request_duration_seconds',
    help: 'How long requests took, from their headers to their answer',
  });
  readonly errors = new Counter({
    name: 'rollcall_http_errors_total',
    help: 'Answers with an error, by its code',
  });

  /** The series of a route, which the caller retains. */
  route(method: string, route: string): RouteSeries {
    return new RouteSeries(this, { method, route });
  }
}
