import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { RequestHistogram } from './request-histogram.ts';

let ofProcess: Registry | undefined;

/** Metrics of the process, once per process: they watch the event loop and the garbage collector from then on. */
function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/** What `/metrics` prints: the requests of one application, and its process. */
export function createRegistry(histogram: RequestHistogram): {
  contentType: string;
  text(): Promise<string>;
} {
  const requests = new Registry();
  // The registry asks a metric for its name and its samples only; the type asks for a class of its own.
  requests.registerMetric(histogram as unknown as Metric<string>);
  return {
    contentType: requests.contentType,
    async text() {
      return `${await requests.metrics()}\n${await processRegistry().metrics()}`;
    },
  };
}
