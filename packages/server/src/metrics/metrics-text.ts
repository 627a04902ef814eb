import type { Labels, Metric, Sample } from './metric.ts';

/** The content type of {@link metricsText}. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The metrics in the text format of Prometheus. Metrics of the same name, of two drivers for example, are printed as one. A metric
 * whose reading fails has no samples this time: the others matter most while a server is away.
 */
export async function metricsText(metrics: Iterable<Metric>): Promise<string> {
  const byName = new Map<string, { metric: Metric; samples: Promise<Iterable<Sample>>[] }>();
  for (const metric of metrics) {
    const known = byName.get(metric.name) ?? { metric, samples: [] };
    byName.set(metric.name, known);
    known.samples.push(read(metric));
  }
  let text = '';
  for (const { metric, samples } of byName.values()) {
    const { name, help, type } = metric;
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const found of await Promise.all(samples))
      for (const { suffix = '', labels, value } of found)
        text += `${name}${suffix}${labelsText(labels)} ${valueText(value)}\n`;
  }
  return text;
}

async function read(metric: Metric): Promise<Iterable<Sample>> {
  try {
    return await metric.samples();
  } catch {
    return [];
  }
}

function labelsText(labels: Labels): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return texts.length === 0 ? '' : `{${texts.join(',')}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

const escaped = (value: string) => value.replaceAll(/[\\"\n]/g, (character) => ESCAPES[character] as string);

function valueText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}
