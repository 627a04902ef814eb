import { gauge, type Metric } from '../metrics/metric.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { ClientSockets } from './socket/client-sockets.ts';

interface Parts {
  readonly requests: RequestMetrics;
  readonly bodyMemory: BodyMemory;
  readonly sockets: ClientSockets;
}

/** The requests, sockets and bodies of an application. */
export const httpMetrics = ({ requests, bodyMemory, sockets }: Parts): Metric[] => [
  requests.durations,
  requests.errors,
  gauge({ name: 'rollcall_sockets', help: 'Open sockets of clients' }, () => sockets.count),
  gauge(
    { name: 'rollcall_request_body_bytes', help: 'Request bodies that are being received or applied' },
    () => bodyMemory.bytes,
  ),
];
