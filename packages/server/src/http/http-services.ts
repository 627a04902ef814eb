import type { Services } from '../services.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import type { BodyThreads } from './bodies/body-threads.ts';
import type { MetricsRegistry } from './metrics-registry.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequestHistogram } from './request-histogram.ts';
import type { ClientSockets } from './socket/client-sockets.ts';

/** The API description, for programs and for people. */
export interface ApiDescription {
  document(): Promise<Buffer>;
  page(): Promise<DocsPage>;
}

export interface DocsPage {
  readonly bytes: Buffer;
  /** The Content-Security-Policy under which the page works: nothing is loaded, from here or from elsewhere. */
  readonly securityPolicy: string;
}

/** The services that the application and its handlers call. */
export interface HttpServices extends Services {
  readonly bodyMemory: BodyMemory;
  readonly bodyThreads: BodyThreads;
  readonly histogram: RequestHistogram;
  /** Of requests and of frames; null where the operator has set none. */
  readonly rateLimit: RateLimit | null;
  readonly sockets: ClientSockets;
  readonly apiDescription: ApiDescription;
  metrics(): Promise<MetricsRegistry>;
}
