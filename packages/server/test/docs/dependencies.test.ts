import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT, readPage, tablesOf } from './markdown.ts';

const PAGE = 'docs/dependencies.md';
/** Where a path of the table begins. */
const BASES = ['packages/server/src', 'packages', '.'].map((base) => join(ROOT, base));
const SOURCE = /\.(ts|js|css)$/;
/** A row may differ by this part of its lines, and by so many of a small file. */
const TOLERANCE = 0.1;
const TOLERANCE_MIN_LINES = 5;

const rows = tablesOf(PAGE, 'Part').map(([part = '', lines = '']) => ({
  part,
  lines: sumOf(lines),
  patterns: [...part.matchAll(/`([^`]*\/[^`]*)`/g)].map(([, pattern = '']) => pattern),
}));

test('every path in the tables of docs/dependencies.md names a file or a folder with sources', () => {
  assert.ok(rows.length > 50);
  const unnamed = rows.flatMap(({ part, patterns }) =>
    patterns.length === 0 || patterns.some((pattern) => filesOf(pattern).length === 0) ? [part] : [],
  );
  assert.deepEqual(unnamed, []);
});

test('the lines of each row of docs/dependencies.md are those of the files that it names, within a tenth or five lines', () => {
  const wrong = rows
    .map(({ part, lines, patterns }) => ({ part, lines, counted: countLines(patterns.flatMap(filesOf)) }))
    .filter(
      ({ lines, counted }) => Math.abs(lines - counted) > Math.max(counted * TOLERANCE, TOLERANCE_MIN_LINES),
    );
  assert.deepEqual(wrong, []);
});

test('docs/dependencies.md names every package that the server is installed with', () => {
  const { dependencies } = JSON.parse(readPage('packages/server/package.json')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const page = readPage(PAGE);
  const unnamed = Object.keys(dependencies).filter(
    (name) => !page.includes(`\`${name.replace(/^@opentelemetry\/(?!api$)/, '')}\``),
  );
  assert.deepEqual(unnamed, []);
});

/** `613, 280 of script, and 500 of style` is 1,393. */
function sumOf(cell: string): number {
  return (cell.match(/\d[\d,]*(?!\d)/g) ?? []).reduce(
    (sum, number) => sum + Number(number.replaceAll(',', '')),
    0,
  );
}

/** The sources that a path, a folder with its slash, or a pattern names. */
function filesOf(pattern: string): string[] {
  const files = pattern.endsWith('/') ? `${pattern}**/*` : pattern;
  for (const base of BASES) {
    const found = globSync(files, { cwd: base }).filter((file) => SOURCE.test(file));
    if (found.length > 0) return found.map((file) => join(base, file));
  }
  return [];
}

const countLines = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
