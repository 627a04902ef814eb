/** Labels of a time series. Their values come from a bounded set: never an ID, a path or a text that callers make up. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  /** Follows the name: `_bucket`, `_sum` and `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The name, the meaning and the type of a metric. */
interface MetricDefinition {
  /** As Prometheus' conventions have it: with its unit, and `_total` for a counter. */
  readonly name: string;
  /** One line. */
  readonly help: string;
}

/** A metric, whose samples are read when the metrics are. */
export interface Metric extends MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** None where it is not known now. */
  samples(): Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** Reads a value whenever the metrics are read; a list where it has labels. */
export type Read = () => number | readonly Sample[] | Promise<number | readonly Sample[]>;

/** Values that are stored elsewhere, by name. One that ends in `_total` only grows; any other can fall. */
export const readMetrics = (table: Readonly<Record<string, readonly [help: string, read: Read]>>): Metric[] =>
  Object.entries(table).map(([name, [help, read]]) => ({
    name,
    help,
    type: name.endsWith('_total') ? 'counter' : 'gauge',
    async samples() {
      const found = await read();
      return typeof found === 'number' ? [{ labels: NO_LABELS, value: found }] : found;
    },
  }));

const NO_LABELS: Labels = {};

/** The series of a metric, each made once. Make one before it is needed where 0 is an answer. */
abstract class SeriesMetric<Series> {
  readonly name: string;
  readonly help: string;
  protected readonly made: (readonly [Labels, Series])[] = [];

  constructor({ name, help }: MetricDefinition) {
    this.name = name;
    this.help = help;
  }

  /** A new series. The caller retains it: finding one by its labels would cost more than counting. */
  series(labels: Labels = NO_LABELS): Series {
    const series = this.create();
    this.made.push([labels, series]);
    return series;
  }

  protected abstract create(): Series;
}

export interface CounterSeries {
  value: number;
}

/** A count that only grows, by labels. */
export class Counter extends SeriesMetric<CounterSeries> implements Metric {
  readonly type = 'counter';

  protected create(): CounterSeries {
    return { value: 0 };
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { value }] of this.made) yield { labels, value };
  }
}

/** Upper bounds of the buckets of durations, in seconds. */
const DURATIONS: readonly number[] = [
  ...[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
];

/** Upper bounds of the buckets of batch sizes. */
export const SIZES: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/** The distribution of values, of one combination of labels. */
export class HistogramSeries {
  readonly bounds: readonly number[];
  /** Of each bucket by itself; the last one has what exceeds the bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    counts[bucket] = (counts[bucket] as number) + 1;
    this.sum += value;
  }

  /** A duration since a time of `performance.now()`, in seconds. */
  observeSince(begun: number): void {
    this.observe((performance.now() - begun) / 1_000);
  }
}

/** A distribution of values, by labels. */
export class Histogram extends SeriesMetric<HistogramSeries> implements Metric {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  constructor(definition: MetricDefinition, bounds: readonly number[] = DURATIONS) {
    super(definition);
    this.#bounds = bounds;
  }

  protected create(): HistogramSeries {
    return new HistogramSeries(this.#bounds);
  }

  *samples(): Iterable<Sample> {
    for (const [labels, { bounds, counts, sum }] of this.made) {
      let total = 0;
      for (const [index, count] of counts.entries()) {
        total += count;
        yield { suffix: '_bucket', labels: { ...labels, le: String(bounds[index] ?? '+Inf') }, value: total };
      }
      yield { suffix: '_sum', labels, value: sum };
      yield { suffix: '_count', labels, value: total };
    }
  }
}
