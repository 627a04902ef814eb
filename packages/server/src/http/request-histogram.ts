/** Upper bounds of the buckets, in seconds. */
const BOUNDS = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

const NAME = 'rollcall_http_request_duration_seconds';

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Durations of one route's answers of one status. */
class Series {
  readonly counts = new Float64Array(BOUNDS.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += seconds;
  }
}

/** The series of one route, by status. */
export class RouteSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly byStatus = new Map<number, Series>();

  constructor(labels: Readonly<Record<string, string>>) {
    this.labels = labels;
  }

  observe(status: number, milliseconds: number): void {
    let series = this.byStatus.get(status);
    if (series === undefined) {
      series = new Series();
      this.byStatus.set(status, series);
    }
    series.observe(milliseconds / 1_000);
  }
}

/**
 * A Prometheus histogram of request durations. prom-client's own hashes the labels at every observation, which costs
 * more than the rest of the request's metrics; here each route has its series. prom-client reads the samples.
 */
export class RequestHistogram {
  readonly name = NAME;
  readonly help = 'How long requests took, from their headers to their answer';
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #routes: RouteSeries[] = [];

  /** The series of a route: always the same one. */
  route(method: string, route: string): RouteSeries {
    const known = this.#routes.find(({ labels }) => labels.method === method && labels.route === route);
    if (known !== undefined) return known;
    const series = new RouteSeries({ method, route });
    this.#routes.push(series);
    return series;
  }

  /** The metric in the form that prom-client's registry prints. */
  async get() {
    const values = this.#routes.flatMap(({ labels, byStatus }) =>
      [...byStatus].flatMap(([status, series]) => samples({ ...labels, status: String(status) }, series)),
    );
    return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values };
  }

  reset(): void {
    for (const { byStatus } of this.#routes) byStatus.clear();
  }
}

function samples(labels: Sample['labels'], { counts, sum }: Series): Sample[] {
  let total = 0;
  const buckets = [...counts].map((count, index) => {
    total += count;
    return { metricName: `${NAME}_bucket`, labels: { ...labels, le: BOUNDS[index] ?? '+Inf' }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: total },
  ];
}
