import type { ApiDescription } from '../api-description/api-description.ts';
import type { Services } from '../services.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import type { BodyThreads } from './bodies/body-threads.ts';
import type { MetricsRegistry } from './metrics-registry.ts';
import type { AnyOperation } from './operation.ts';
import type { RequestHistogram } from './request-histogram.ts';

/** What the application and its handlers work with. */
export interface HttpServices extends Services {
  readonly operations: readonly AnyOperation[];
  readonly bodyMemory: BodyMemory;
  readonly bodyThreads: BodyThreads;
  readonly histogram: RequestHistogram;
  readonly apiDescription: ApiDescription;
  metrics(): Promise<MetricsRegistry>;
}
