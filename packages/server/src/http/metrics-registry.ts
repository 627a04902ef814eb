import { Counter, collectDefaultMetrics, Gauge, type Histogram, type Metric, Registry } from 'prom-client';
import type { RequestHistogram } from './request-histogram.ts';

let ofProcess: Registry | undefined;

/** Metrics of the process, once per process: they watch the event loop and the garbage collector from then on. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    // A kind of collection that has not happened yet counts 0, as a counter should; otherwise it is missing.
    const collections = ofProcess.getSingleMetric('nodejs_gc_duration_seconds') as Histogram<'kind'>;
    for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind });
  }
  return ofProcess;
}

/** The metrics that `/metrics` prints. */
export interface MetricsRegistry {
  readonly contentType: string;
  text(): Promise<string>;
}

/** The values that are read whenever the metrics are. */
export interface Readings {
  countStreams(): number;
  countSockets(): number;
  countBodyBytes(): number;
  countLeasedWebhooks(): number;
  countAttempts(): Readonly<Record<'acknowledged' | 'failed', number>>;
}

/** The requests, streams and bodies of one application, and its process. */
export function createRegistry(histogram: RequestHistogram, readings: Readings): MetricsRegistry {
  const requests = new Registry();
  // The registry reads the name and the samples only; its type requires a class of prom-client.
  requests.registerMetric(histogram as unknown as Metric<string>);
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [requests],
      collect() {
        this.set(read());
      },
    });
  gauge('rollcall_presence_streams', 'How many presence streams are open', readings.countStreams);
  gauge('rollcall_sockets', 'How many sockets of clients are open', readings.countSockets);
  gauge(
    'rollcall_request_body_bytes',
    'Bytes of request bodies that are being received or applied',
    readings.countBodyBytes,
  );
  gauge(
    'rollcall_webhooks_leased',
    'Webhooks that this process delivers for now',
    readings.countLeasedWebhooks,
  );
  new Counter({
    name: 'rollcall_webhook_attempts_total',
    help: 'Attempts to deliver to webhooks',
    labelNames: ['outcome'],
    registers: [requests],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(readings.countAttempts())) this.inc({ outcome }, count);
    },
  });
  return {
    contentType: requests.contentType,
    async text() {
      const text = `${await requests.metrics()}\n${await processRegistry().metrics()}`;
      // prom-client writes `Nan`, where the format knows `NaN` only.
      return text.replaceAll(/ Nan$/gm, ' NaN');
    },
  };
}
