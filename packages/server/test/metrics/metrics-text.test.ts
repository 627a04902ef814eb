import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cached } from '../../src/metrics/cached.ts';
import { Counter, Histogram, type Metric, readMetrics } from '../../src/metrics/metric.ts';
import { metricsText } from '../../src/metrics/metrics-text.ts';
import { promtool, skipsPrometheus } from './prometheus.ts';

const linesOf = async (...metrics: Metric[]) =>
  (await metricsText(metrics)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

suite('the text of metrics', () => {
  test('a counter has a line for each series, and metrics of one name are printed as one', async () => {
    const [first, second] = [1, 2].map((n) => {
      const requests = new Counter({ name: 'a_total', help: 'A' });
      requests.series({ n: `${n}` }).value += n;
      return requests;
    }) as [Counter, Counter];
    const [other] = readMetrics({ b: ['B', () => 0.5] }) as [Metric];
    assert.equal(
      await metricsText([first, other, second]),
      '# HELP a_total A\n# TYPE a_total counter\na_total{n="1"} 1\na_total{n="2"} 2\n' +
        '# HELP b B\n# TYPE b gauge\nb 0.5\n',
    );
  });

  test('the buckets of a histogram count all values up to their bound, and the last one counts all', async () => {
    const sizes = new Histogram({ name: 's', help: 'S' }, [1, 2]);
    const series = sizes.series();
    for (const value of [0.5, 1, 2, 9]) series.observe(value);
    assert.deepEqual(await linesOf(sizes), [
      's_bucket{le="1"} 2',
      's_bucket{le="2"} 3',
      's_bucket{le="+Inf"} 4',
      's_sum 12.5',
      's_count 4',
    ]);
  });

  test('a metric whose reading fails has no sample, and the others have theirs', async () => {
    const broken = () => {
      throw new Error('broken');
    };
    const metrics = readMetrics({
      away: ['A', () => Promise.reject(new Error('away'))],
      broken_total: ['B', broken],
      there: ['T', () => 1],
    });
    assert.deepEqual(await linesOf(...metrics), ['there 1']);
  });

  test('any value of a label and any number is legal text', { skip: skipsPrometheus }, async () => {
    const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21, 5e-324, -1];
    const samples = values.map((value, index) => ({ labels: { text: `${index}"\\\n,}é\u0000` }, value }));
    const text = await metricsText(readMetrics({ odd: ['Odd values', () => samples] }));
    assert.equal(text.split('\n').length, values.length + 3);
    const { isFine, printed } = promtool(['check', 'metrics'], text);
    assert.ok(isFine, printed);
  });
});

suite('a cached reading', () => {
  test('a value is read once in its time, also by callers at once, and again when it is old or the clock is set back', async () => {
    let [now, reads] = [0, 0];
    const read = cached(async () => ++reads, 5_000, { now: () => now });
    assert.deepEqual(await Promise.all([read(), read()]), [1, 1]);
    now = 4_999;
    assert.equal(await read(), 1);
    now = 5_000;
    assert.equal(await read(), 2);
    now = 0;
    assert.equal(await read(), 3);
  });

  test('a reading that failed is not repeated within its time either, and then it is', async () => {
    let [now, reads] = [0, 0];
    const read = cached(
      async () => {
        reads += 1;
        if (reads === 1) throw new Error('away');
        return reads;
      },
      5_000,
      { now: () => now },
    );
    await assert.rejects(read(), /away/);
    now = 4_999;
    await assert.rejects(read(), /away/);
    assert.equal(reads, 1);
    now = 5_000;
    assert.equal(await read(), 2);
  });
});
