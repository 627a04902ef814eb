import type { ChangeFeed } from '../core/changes/change-feed.ts';
import type { TokenService } from '../core/clients/token-service.ts';
import type { PageTokens } from '../core/page-token.ts';
import type { Readiness } from '../core/readiness.ts';
import type * as resourceServices from '../core/resource-services.ts';
import type { Metric } from '../metrics/metric.ts';
import type { ChangeHub } from '../realtime/changes/change-hub.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { WebhookDeliveries } from '../webhooks/webhook-deliveries.ts';
import type { WebhookTests } from '../webhooks/webhook-tests.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import type { BodyThreads } from './bodies/body-threads.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { ClientSockets } from './socket/client-sockets.ts';
import type { SocketServices } from './socket/socket-parts.ts';

/** The API description, for programs and for people. */
export interface ApiDescription {
  document(): Promise<Buffer>;
  /** The socket and the streams. */
  eventDocument(): Promise<Buffer>;
  page(): Promise<DocsPage>;
}

export interface DocsPage {
  /** The page whose examples send to this address. */
  textFor(address: string): Uint8Array;
  /** The Content-Security-Policy under which the page works: nothing is loaded, from here or from elsewhere. */
  readonly securityPolicy: string;
}

export type ResourceServices = {
  readonly [Name in keyof typeof resourceServices]: InstanceType<(typeof resourceServices)[Name]>;
};

export interface HttpServices extends ResourceServices, SocketServices {
  readonly tokens: TokenService;
  readonly pageTokens: PageTokens;
  readonly changes: ChangeFeed;
  readonly changeStreams: ChangeHub;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly isWebhookTarget: (url: string) => boolean;
  readonly webhookTests: WebhookTests;
  readonly readiness: Readiness;
  /** Null where no traces are made. */
  readonly tracing: Tracing | null;
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
