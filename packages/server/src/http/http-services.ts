import type { Metric } from '../metrics/metric.ts';
import type { Services } from '../services.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import type { BodyThreads } from './bodies/body-threads.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { ClientSockets } from './socket/client-sockets.ts';

/** The API description, for programs and for people. */
export interface ApiDescription {
  document(): Promise<Buffer>;
  /** The socket and the streams. */
  eventDocument(): Promise<Buffer>;
  page(): Promise<DocsPage>;
}

export interface DocsPage {
  /** The page whose examples send to this address. */
  textFor(address: string): string;
  /** The Content-Security-Policy under which the page works: nothing is loaded, from here or from elsewhere. */
  readonly securityPolicy: string;
}

/** The services that the application and its handlers call. */
export interface HttpServices extends Services {
  readonly bodyMemory: BodyMemory;
  readonly bodyThreads: BodyThreads;
  readonly requests: RequestMetrics;
  /** Of requests and of frames; null where the operator has set none. */
  readonly rateLimit: RateLimit | null;
  readonly sockets: ClientSockets;
  readonly apiDescription: ApiDescription;
  /** All metrics of the server, apart from those of its process. */
  readonly metrics: readonly Metric[];
}
