import { type Metric, readMetrics } from '../metrics/metric.ts';
import type { BodyMemory } from './bodies/body-memory.ts';
import type { RequestMetrics } from './request-metrics.ts';
import type { ClientSockets } from './socket/client-sockets.ts';

interface Parts {
  readonly requests: RequestMetrics;
  readonly bodyMemory: BodyMemory;
  readonly sockets: ClientSockets;
}

export const httpMetrics = ({ requests, bodyMemory, sockets }: Parts): Metric[] => [
  requests.durations,
  requests.errors,
  ...readMetrics({
    rollcall_sockets: ['Open sockets of clients', () => sockets.count],
    rollcall_request_body_bytes: [
      'Request bodies that are being received or applied',
      () => bodyMemory.bytes,
    ],
  }),
];
