import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { ROOT, readPage } from '../docs/markdown.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { promtool, RULES, skipsPrometheus } from './prometheus.ts';

const UNIT_TESTS = join(ROOT, 'deploy/prometheus/alerts.test.yaml');

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: { readonly summary?: string; readonly description?: string };
}

interface UnitTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts: readonly unknown[];
  }[];
}

const rules: readonly Rule[] = RULES.flatMap((file) =>
  parse(readFileSync(file, 'utf8')).groups.flatMap(({ rules }: { rules: Rule[] }) => rules),
);
const alerts = rules.flatMap(({ alert }) => alert ?? []);
const unitTests: { readonly tests: readonly UnitTest[] } = parse(readFileSync(UNIT_TESTS, 'utf8'));

/** The names of our metrics in a query, without the endings of a histogram. Recorded series have a colon before theirs. */
const metricsIn = (query: string) =>
  [...query.matchAll(/(?<![:\w])(?:rollcall|process|nodejs)_\w+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  );

suite('the rules in deploy/prometheus', { skip: skipsPrometheus }, () => {
  test('promtool finds nothing wrong with the recording rules and the alerts', () => {
    const { isFine, printed } = promtool(['check', 'rules', ...RULES]);
    assert.ok(isFine, printed);
  });

  test('each alert is quiet and fires as in its unit test', () => {
    const { isFine, printed } = promtool(['test', 'rules', UNIT_TESTS]);
    assert.ok(isFine, printed);
  });

  test('promtool notices a unit test that expects an alert which does not fire', async () => {
    await using directory = await temporaryDirectory('rules');
    const [first] = unitTests.tests as [UnitTest];
    const [quiet] = first.alert_rule_test as [UnitTest['alert_rule_test'][0]];
    const wrong = { ...first, alert_rule_test: [{ ...quiet, exp_alerts: [{ exp_labels: {} }] }] };
    const file = join(directory.path, 'wrong.yaml');
    writeFileSync(file, JSON.stringify({ ...unitTests, rule_files: RULES, tests: [wrong] }));
    assert.equal(promtool(['test', 'rules', file]).isFine, false);
  });
});

test('each alert has a unit test in which it is quiet once and fires once', () => {
  const cases = unitTests.tests.flatMap((one) => one.alert_rule_test);
  const tested = (isFiring: boolean) =>
    cases.filter(({ exp_alerts }) => exp_alerts.length > 0 === isFiring).map(({ alertname }) => alertname);
  assert.ok(alerts.length > 10);
  assert.deepEqual(tested(false).sort(), alerts.toSorted());
  assert.deepEqual(tested(true).sort(), alerts.toSorted());
});

test('each alert has a summary and a description', () => {
  for (const { alert, annotations } of rules) {
    if (alert === undefined) continue;
    assert.ok(annotations?.summary && annotations.description, alert);
  }
});

test('rules and dashboard name only metrics that docs/metrics.md has, and records that are recorded', () => {
  const page = readPage('docs/metrics.md');
  const dashboard = readPage('deploy/grafana/rollcall.json');
  const queries = [...rules.map(({ expr }) => expr), ...JSON.parse(dashboard).panels.flatMap(queriesOf)];
  const unknown = queries.flatMap(metricsIn).filter((name) => !page.includes(`| \`${name}\` |`));
  assert.deepEqual([...new Set(unknown)], []);
  const records = new Set(rules.flatMap(({ record }) => record ?? []));
  const read = queries.flatMap((query) => query.match(/\w+:\w+:\w+/g) ?? []);
  assert.deepEqual(
    read.filter((name) => !records.has(name)),
    [],
  );
});

const queriesOf = ({ targets = [] }: { targets?: readonly { expr: string }[] }) =>
  targets.map(({ expr }) => expr);
