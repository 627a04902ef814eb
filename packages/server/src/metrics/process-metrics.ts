import { readdir, readFile, stat } from 'node:fs/promises';
import {
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  constants as performanceConstants,
} from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { Histogram, type HistogramSeries, type Metric, readMetrics, type Sample } from './metric.ts';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
/** How often the delay of the event loop is sampled, in milliseconds. */
const LAG_RESOLUTION_MS = 10;
/** Readings of the delay that are closer to each other than this, in milliseconds, answer the same. */
const LAG_WINDOW_MS = 1_000;

let ofProcess: readonly Metric[] | undefined;

/**
 * The metrics of the process and of its Node, under the names that Prometheus' client libraries use. Once per process: from the
 * first reading on, they watch the event loop and the garbage collector.
 */
export function processMetrics(): readonly Metric[] {
  ofProcess ??= [...processOnly(), ...eventLoop(), ...heap(), collections()];
  return ofProcess;
}

function processOnly(): Metric[] {
  const cpu = (part: (usage: NodeJS.CpuUsage) => number) => () => part(process.cpuUsage()) / MICROSECONDS;
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.');
  const labels = { version: process.version, major, minor, patch };
  const startedAt = Math.round(Date.now() / 1_000 - process.uptime());
  return readMetrics({
    process_cpu_user_seconds_total: [
      'Processor time of the process outside of the kernel',
      cpu(({ user }) => user),
    ],
    process_cpu_system_seconds_total: [
      'Processor time of the process in the kernel',
      cpu(({ system }) => system),
    ],
    process_cpu_seconds_total: [
      'Processor time of the process, all threads',
      cpu(({ user, system }) => user + system),
    ],
    process_start_time_seconds: ['When the process started, since the Unix epoch', () => startedAt],
    process_resident_memory_bytes: ['Memory that is in RAM', () => process.memoryUsage.rss()],
    process_virtual_memory_bytes: ['Address space', () => fromStatus('VmSize')],
    process_heap_bytes: ['Data segment', () => fromStatus('VmData')],
    process_open_fds: ['Open files and connections', openFiles],
    process_max_fds: ['Most files and connections that may be open', mostFiles],
    nodejs_version_info: ['The version of Node', () => [{ labels, value: 1 }]],
  });
}

/** A field of /proc/self/status, in bytes. Only Linux has it. */
async function fromStatus(field: string): Promise<readonly Sample[]> {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(await proc('status')) ?? [];
  return kilobytes === undefined ? [] : [{ labels: {}, value: Number(kilobytes) * 1_024 }];
}

const proc = (name: string) => readFile(`/proc/self/${name}`, 'utf8').catch(() => '');

/** Kernels from 6.2 on count them; older ones would list a name for each. */
async function openFiles(): Promise<number | readonly Sample[]> {
  try {
    const { size } = await stat('/proc/self/fd');
    return size > 0 ? size : (await readdir('/proc/self/fd')).length;
  } catch {
    return [];
  }
}

async function mostFiles(): Promise<number | readonly Sample[]> {
  const [, most] = /^Max open files\s+(\d+)/m.exec(await proc('limits')) ?? [];
  return most === undefined ? [] : Number(most);
}

type Delays = ReturnType<typeof monitorEventLoopDelay>;

/** The measures of the delay of the event loop, in nanoseconds, and what they mean. */
const LAGS: Readonly<Record<string, readonly [help: string, read: (delays: Delays) => number]>> = {
  min: ['Least delay of the event loop since the last reading', ({ min }) => min],
  max: ['Longest delay of the event loop since the last reading', ({ max }) => max],
  mean: ['Mean delay of the event loop since the last reading', ({ mean }) => mean],
  stddev: ['Standard deviation of the delay of the event loop', ({ stddev }) => stddev],
  p50: ['Median delay of the event loop since the last reading', (delays) => delays.percentile(50)],
  p90: ['90th percentile of the delay of the event loop', (delays) => delays.percentile(90)],
  p99: ['99th percentile of the delay of the event loop', (delays) => delays.percentile(99)],
};

/**
 * Reads a measure of the delays since the reading before, in seconds. Within {@link LAG_WINDOW_MS} of it the answer is the same, so
 * that all metrics of a scrape, and two Prometheus servers that scrape at the same time, get those of one window. NaN before the
 * first sample.
 */
function lagReader(): (name: string) => number {
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delays.enable();
  const lags = new Map<string, number>();
  let readAt = Number.NEGATIVE_INFINITY;
  return (name) => {
    const now = performance.now();
    if (now - readAt >= LAG_WINDOW_MS && delays.count > 0) {
      for (const [of, [, read]] of Object.entries(LAGS)) lags.set(of, read(delays) / NANOSECONDS);
      delays.reset();
      readAt = now;
    }
    return lags.get(name) ?? Number.NaN;
  };
}

function eventLoop(): Metric[] {
  const readLag = lagReader();
  const lags = Object.entries(LAGS).map(
    ([name, [help]]) => [`nodejs_eventloop_lag_${name}_seconds`, [help, () => readLag(name)]] as const,
  );
  const lagNow = async () => {
    const begun = performance.now();
    await nextIteration();
    return (performance.now() - begun) / 1_000;
  };
  return readMetrics({
    nodejs_eventloop_lag_seconds: ['Delay of the event loop now', lagNow],
    ...Object.fromEntries(lags),
    nodejs_eventloop_active_seconds_total: [
      'Time that the event loop did not wait',
      () => performance.eventLoopUtilization().active / 1_000,
    ],
  });
}

function heap(): Metric[] {
  const bySpace = (part: (space: ReturnType<typeof getHeapSpaceStatistics>[number]) => number) => () =>
    getHeapSpaceStatistics().map((space) => ({
      labels: { space: space.space_name.replace(/_space$/, '') },
      value: part(space),
    }));
  const resources = () => {
    const counts = new Map<string, number>();
    for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
    return [...counts].map(([type, value]) => ({ labels: { type }, value }));
  };
  return readMetrics({
    nodejs_heap_size_total_bytes: ['Heap of JavaScript', () => process.memoryUsage().heapTotal],
    nodejs_heap_size_used_bytes: ['Heap of JavaScript in use', () => process.memoryUsage().heapUsed],
    nodejs_external_memory_bytes: [
      'Memory outside of the heap that objects of it have',
      () => process.memoryUsage().external,
    ],
    nodejs_heap_space_size_total_bytes: ['Parts of the heap', bySpace((space) => space.space_size)],
    nodejs_heap_space_size_used_bytes: [
      'Parts of the heap in use',
      bySpace((space) => space.space_used_size),
    ],
    nodejs_heap_space_size_available_bytes: [
      'Parts of the heap that are free',
      bySpace((space) => space.space_available_size),
    ],
    nodejs_active_resources: ['What keeps the event loop alive, by type', resources],
  });
}

/** Upper bounds of the buckets of collections, in seconds. */
const COLLECTION_BOUNDS = [0.001, 0.01, 0.1, 1, 2, 5];

/** A kind of collection that has not happened yet counts 0. */
function collections(): Metric {
  const durations = new Histogram(
    { name: 'nodejs_gc_duration_seconds', help: 'Pauses for garbage collection, by kind' },
    COLLECTION_BOUNDS,
  );
  const { NODE_PERFORMANCE_GC_MAJOR, NODE_PERFORMANCE_GC_MINOR } = performanceConstants;
  const { NODE_PERFORMANCE_GC_INCREMENTAL, NODE_PERFORMANCE_GC_WEAKCB } = performanceConstants;
  const byKind = new Map<unknown, HistogramSeries>([
    [NODE_PERFORMANCE_GC_MAJOR, durations.series({ kind: 'major' })],
    [NODE_PERFORMANCE_GC_MINOR, durations.series({ kind: 'minor' })],
    [NODE_PERFORMANCE_GC_INCREMENTAL, durations.series({ kind: 'incremental' })],
    [NODE_PERFORMANCE_GC_WEAKCB, durations.series({ kind: 'weakcb' })],
  ]);
  const observer = new PerformanceObserver((list) => {
    for (const { duration, detail } of list.getEntries() as (PerformanceEntry & {
      detail?: { kind?: number };
    })[])
      byKind.get(detail?.kind)?.observe(duration / 1_000);
  });
  observer.observe({ entryTypes: ['gc'] });
  return durations;
}
