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
import { counter, gauge, Histogram, type HistogramSeries, type Metric, type Sample } from './metric.ts';

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
  return [
    counter(
      { name: 'process_cpu_user_seconds_total', help: 'Processor time of the process outside of the kernel' },
      cpu(({ user }) => user),
    ),
    counter(
      { name: 'process_cpu_system_seconds_total', help: 'Processor time of the process in the kernel' },
      cpu(({ system }) => system),
    ),
    counter(
      { name: 'process_cpu_seconds_total', help: 'Processor time of the process, all threads' },
      cpu(({ user, system }) => user + system),
    ),
    gauge(
      { name: 'process_start_time_seconds', help: 'When the process started, since the Unix epoch' },
      () => startedAt,
    ),
    gauge({ name: 'process_resident_memory_bytes', help: 'Memory that is in RAM' }, () =>
      process.memoryUsage.rss(),
    ),
    gauge({ name: 'process_virtual_memory_bytes', help: 'Address space' }, () => fromStatus('VmSize')),
    gauge({ name: 'process_heap_bytes', help: 'Data segment' }, () => fromStatus('VmData')),
    gauge({ name: 'process_open_fds', help: 'Open files and connections' }, openFiles),
    gauge({ name: 'process_max_fds', help: 'Most files and connections that may be open' }, mostFiles),
    gauge({ name: 'nodejs_version_info', help: 'The version of Node' }, () => [{ labels, value: 1 }]),
  ];
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

/** Delays of the event loop, in seconds. */
interface Lag {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Before the first sample. */
const NO_LAG: Lag = { min: NaN, max: NaN, mean: NaN, stddev: NaN, p50: NaN, p90: NaN, p99: NaN };

/**
 * Reads the delays since the reading before. Within {@link LAG_WINDOW_MS} of it the answer is the same, so that all metrics
 * of a scrape, and two Prometheus servers that scrape at the same time, get those of one window.
 */
function lagReader(): () => Lag {
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delays.enable();
  let known = { at: Number.NEGATIVE_INFINITY, lag: NO_LAG };
  return () => {
    const now = performance.now();
    if (now - known.at < LAG_WINDOW_MS || delays.count === 0) return known.lag;
    const percentile = (share: number) => delays.percentile(share) / NANOSECONDS;
    const lag = {
      min: delays.min / NANOSECONDS,
      max: delays.max / NANOSECONDS,
      mean: delays.mean / NANOSECONDS,
      stddev: delays.stddev / NANOSECONDS,
      p50: percentile(50),
      p90: percentile(90),
      p99: percentile(99),
    };
    delays.reset();
    known = { at: now, lag };
    return lag;
  };
}

function eventLoop(): Metric[] {
  const readLag = lagReader();
  const lag = (name: keyof Lag, help: string) =>
    gauge({ name: `nodejs_eventloop_lag_${name}_seconds`, help }, () => readLag()[name]);
  return [
    gauge({ name: 'nodejs_eventloop_lag_seconds', help: 'Delay of the event loop now' }, async () => {
      const begun = performance.now();
      await nextIteration();
      return (performance.now() - begun) / 1_000;
    }),
    lag('min', 'Least delay of the event loop since the last reading'),
    lag('max', 'Longest delay of the event loop since the last reading'),
    lag('mean', 'Mean delay of the event loop since the last reading'),
    lag('stddev', 'Standard deviation of the delay of the event loop'),
    lag('p50', 'Median delay of the event loop since the last reading'),
    lag('p90', '90th percentile of the delay of the event loop'),
    lag('p99', '99th percentile of the delay of the event loop'),
    counter(
      { name: 'nodejs_eventloop_active_seconds_total', help: 'Time that the event loop did not wait' },
      () => performance.eventLoopUtilization().active / 1_000,
    ),
  ];
}

function heap(): Metric[] {
  const bySpace = (part: (space: ReturnType<typeof getHeapSpaceStatistics>[number]) => number) => () =>
    getHeapSpaceStatistics().map((space) => ({
      labels: { space: space.space_name.replace(/_space$/, '') },
      value: part(space),
    }));
  return [
    gauge(
      { name: 'nodejs_heap_size_total_bytes', help: 'Heap of JavaScript' },
      () => process.memoryUsage().heapTotal,
    ),
    gauge(
      { name: 'nodejs_heap_size_used_bytes', help: 'Heap of JavaScript in use' },
      () => process.memoryUsage().heapUsed,
    ),
    gauge(
      { name: 'nodejs_external_memory_bytes', help: 'Memory outside of the heap that objects of it have' },
      () => process.memoryUsage().external,
    ),
    gauge(
      { name: 'nodejs_heap_space_size_total_bytes', help: 'Parts of the heap' },
      bySpace((space) => space.space_size),
    ),
    gauge(
      { name: 'nodejs_heap_space_size_used_bytes', help: 'Parts of the heap in use' },
      bySpace((space) => space.space_used_size),
    ),
    gauge(
      { name: 'nodejs_heap_space_size_available_bytes', help: 'Parts of the heap that are free' },
      bySpace((space) => space.space_available_size),
    ),
    gauge({ name: 'nodejs_active_resources', help: 'What keeps the event loop alive, by type' }, () => {
      const counts = new Map<string, number>();
      for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1);
      return [...counts].map(([type, value]) => ({ labels: { type }, value }));
    }),
  ];
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
