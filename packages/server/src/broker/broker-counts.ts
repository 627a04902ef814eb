import { Counter, type CounterSeries, type Metric } from '../metrics/metric.ts';
import { type Notification, SUBJECT_FIELDS } from './broker.ts';

/** The messages of a broker, by their type. Every type has its series from the beginning. */
export class BrokerCounts {
  readonly metrics: readonly Metric[];
  readonly #published;
  readonly #received;

  constructor() {
    const messages = new Counter({
      name: 'rollcall_broker_messages_total',
      help: 'Messages to other processes, and from them',
    });
    const byType = (direction: string) =>
      new Map<string, CounterSeries>(
        Object.keys(SUBJECT_FIELDS).map((type) => [type, messages.series({ direction, type })]),
      );
    this.#published = byType('published');
    this.#received = byType('received');
    this.metrics = [messages];
  }

  published({ type }: Notification): void {
    increment(this.#published.get(type));
  }

  /** A message of another process. */
  received({ type }: Notification): void {
    increment(this.#received.get(type));
  }
}

function increment(series: CounterSeries | undefined): void {
  if (series !== undefined) series.value += 1;
}
