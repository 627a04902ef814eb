import process from 'node:process';
import manifest from '../package.json' with { type: 'json' };
import type { Clock } from './core/clock.ts';
import { cached } from './metrics/cached.ts';
import { type Metric, type Read, readMetrics } from './metrics/metric.ts';
import type { StreamCounts } from './realtime/events/stream-counts.ts';
import type { WebhookDeliveries } from './webhooks/webhook-deliveries.ts';
import type { Engine } from './wiring.ts';

/** How old a value from the engine may be, in milliseconds. `/metrics` needs no token, so the engine must not pay for each request. */
const MAX_AGE_MS = 5_000;

interface Parts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly streams: { readonly streamCount: number; readonly counts: StreamCounts };
  readonly conversationStreams: { readonly streamCount: number };
  readonly changeStreams: { readonly streamCount: number };
}

export const serviceMetrics = (parts: Parts): readonly Metric[] => {
  const { store, presence, broker } = parts.engine;
  return [
    ...buildInfo(parts),
    ...store.metrics,
    ...presence.metrics,
    ...broker.metrics,
    ...streamMetrics(parts),
    ...presenceMetrics(parts),
    ...changeMetrics(parts),
    ...webhookMetrics(parts),
  ];
};

function buildInfo({ engine: { store, presence } }: Parts): Metric[] {
  const labels = {
    version: manifest.version,
    node_version: process.version,
    store: store.isInProcess ? 'embedded' : 'postgresql',
    presence: presence.isInProcess ? 'embedded' : 'redis',
  };
  return readMetrics({ rollcall_build_info: ['The version and the engine', () => [{ labels, value: 1 }]] });
}

function streamMetrics({ streams, conversationStreams, changeStreams }: Parts): Metric[] {
  const kinds = { presence: streams, conversation: conversationStreams, changes: changeStreams };
  const all = Object.entries(kinds);
  return [
    ...readMetrics({
      rollcall_presence_streams: [
        'Open streams of all kinds, also those of sockets',
        () => all.reduce((sum, [, { streamCount }]) => sum + streamCount, 0),
      ],
      rollcall_streams: [
        'Open streams by kind, also those of sockets',
        () => all.map(([kind, { streamCount }]) => ({ labels: { kind }, value: streamCount })),
      ],
    }),
    ...streams.counts.metrics,
  ];
}

function presenceMetrics({ engine: { presence }, clock }: Parts): Metric[] {
  const count = cached(() => presence.count(), MAX_AGE_MS, clock);
  return readMetrics({
    rollcall_presences: [
      'Users present in groups, once for each group, region and connection',
      async () => (await count()).presences,
    ],
    rollcall_present_groups: ['Groups with at least one present user', async () => (await count()).groups],
  });
}

function changeMetrics({ engine: { store }, clock }: Parts): Metric[] {
  const extent = cached(() => store.changes.extent(), MAX_AGE_MS, clock);
  const oldestAt: Read = async () => {
    const { oldestAt: at } = await extent();
    return at === null ? [] : at / 1_000;
  };
  return readMetrics({
    rollcall_changes_records: [
      'Records of changes that are stored, estimated',
      async () => (await extent()).records,
    ],
    rollcall_changes_oldest_timestamp_seconds: [
      'When the oldest record of changes was made, since the Unix epoch',
      oldestAt,
    ],
  });
}

function webhookMetrics({ webhookDeliveries, engine: { store }, clock }: Parts): Metric[] {
  const failing = cached(() => store.webhookLeases.countFailing(), MAX_AGE_MS, clock);
  const states: Read = async () => {
    const { backlog } = webhookDeliveries;
    if (backlog === null) return [];
    const { active, resting, behind } = backlog;
    const values = { active, resting, behind, failing: await failing() };
    return Object.entries(values).map(([state, value]) => ({ labels: { state }, value }));
  };
  return [
    ...webhookDeliveries.metrics,
    ...readMetrics({ rollcall_webhooks: ['Webhooks by state, of all processes', states] }),
  ];
}
