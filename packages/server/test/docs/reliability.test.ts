import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../../../..');
const page = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');

test('every command of docs/reliability.md runs existing tests or an existing part of the bench', () => {
  const files = globSync('packages/*/test/**/*.test.ts', { cwd: ROOT });
  const commands = [...page.matchAll(/`npm test -- ([^`<]+)`/g)];
  assert.ok(commands.length > 20);
  for (const [command, parts = ''] of commands) {
    for (const part of parts.split(' ')) {
      assert.ok(
        files.some((file) => file.includes(part)),
        `${command}: no test file's path contains ${part}`,
      );
    }
  }
  const bench = readFileSync(join(ROOT, 'bench/bench.ts'), 'utf8');
  for (const [, part = ''] of page.matchAll(/`npm run bench -- ([\w-]+)`/g)) {
    assert.ok(bench.includes(part), `the bench has no part ${part}`);
  }
});

test('every row of docs/reliability.md names a command that tests it', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('|---'));
  const facts = rows.filter((line) => !line.includes('| Tested by |'));
  for (const row of facts) assert.match(row, /`npm (test|run bench) -- /, row);
});
