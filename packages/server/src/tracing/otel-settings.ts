import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { Environment } from './tracing.ts';

/** Reports a variable whose value is not used. */
type Warn = (message: string) => void;

/** The sampler that OTEL_TRACES_SAMPLER names. The packages leave this variable to the application. */
export function samplerOf(
  { OTEL_TRACES_SAMPLER: name = '', OTEL_TRACES_SAMPLER_ARG: argument = '' }: Environment,
  warn: Warn,
): Sampler {
  const parentBased = /^parentbased_(.+)$/.exec(name);
  const root = rootSampler(parentBased?.[1] ?? name, argument, warn);
  if (root !== null) return parentBased === null ? root : new ParentBasedSampler({ root });
  if (name !== '')
    warn(`OTEL_TRACES_SAMPLER is ${JSON.stringify(name)}, which is not known: parentbased_always_on is used`);
  return new ParentBasedSampler({ root: new AlwaysOnSampler() });
}

function rootSampler(name: string, argument: string, warn: Warn): Sampler | null {
  if (name === 'always_on') return new AlwaysOnSampler();
  if (name === 'always_off') return new AlwaysOffSampler();
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratioOf(argument, warn));
  return null;
}

function ratioOf(argument: string, warn: Warn): number {
  const ratio = argument.trim() === '' ? 1 : Number(argument);
  if (ratio >= 0 && ratio <= 1) return ratio;
  warn(`OTEL_TRACES_SAMPLER_ARG is ${JSON.stringify(argument)}, which is not from 0 to 1: 1 is used`);
  return 1;
}

/** The bounds of the queue of spans, with the defaults of the specification. */
export const batchOptions = (environment: Environment, warn: Warn) => {
  const read = (name: string, fallback: number) => {
    const text = environment[name] ?? '';
    if (text === '') return fallback;
    const value = Number(text);
    if (Number.isSafeInteger(value) && value > 0) return value;
    warn(`${name} is ${JSON.stringify(text)}, which is not a whole number above 0: ${fallback} is used`);
    return fallback;
  };
  return {
    scheduledDelayMillis: read('OTEL_BSP_SCHEDULE_DELAY', 5_000),
    exportTimeoutMillis: read('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
    maxQueueSize: read('OTEL_BSP_MAX_QUEUE_SIZE', 2_048),
    maxExportBatchSize: read('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
  };
};
