/** The metrics of a server and of docs/metrics.md, in one form. */
import { readPage } from '../docs/markdown.ts';

export interface MetricShape {
  readonly type: string;
  /** In alphabetical order, without `le` of histograms. */
  readonly labels: readonly string[];
}

export type Shapes = Readonly<Record<string, MetricShape>>;

/** The metrics of a text in the format of Prometheus that have a sample. */
export function exposedMetrics(text: string): Shapes {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const labels = new Map<string, Set<string>>();
  for (const [, sample = '', list = ''] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const name = types.has(sample) ? sample : sample.replace(/_(bucket|sum|count)$/, '');
    const known = labels.get(name) ?? new Set();
    for (const [, label = ''] of list.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g))
      if (label !== 'le') known.add(label);
    labels.set(name, known);
  }
  return Object.fromEntries(
    [...labels].map(([name, found]) => [
      name,
      { type: types.get(name) ?? 'none', labels: [...found].sort() },
    ]),
  );
}

/** The metrics that the page has. */
export function documentedMetrics(): Shapes {
  const rows = readPage('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \| [^|]+ \|[^|]*\|$/gm);
  return Object.fromEntries(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort() },
    ]),
  );
}
