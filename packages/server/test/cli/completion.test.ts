/** Completions in the real shells, and the manual page as man reads it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { buildCli } from '../../src/cli/cli.ts';
import { commandTable } from '../../src/cli/command-table.ts';
import { completionScript } from '../../src/cli/completion.ts';
import { manPage } from '../../src/cli/man-page.ts';
import { findProgram, isRequired } from '../support/programs.ts';
import { directoryOfFile } from '../support/temporary-directory.ts';

const table = commandTable(buildCli());
const directory = directoryOfFile('completion');

/** What bash offers after these words; the last one is being typed. */
const completed = (...words: readonly string[]) => completedIn(import.meta.dirname, ...words);

function completedIn(cwd: string, ...words: readonly string[]): string[] {
  const script = `${completionScript('bash', table)}
COMP_WORDS=(rollcall "$@"); COMP_CWORD=$#; _rollcall; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], {
    encoding: 'utf8',
    cwd,
  });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.split('\n').filter((line) => line !== '');
}

/** Why the tests of a program are skipped, or false: it is there, or its absence is a failure. */
const skipsWithout = (program: string, name: 'shells' | 'man') =>
  findProgram([program]) === undefined && !isRequired(name) && `there is no ${program} in the PATH`;

describe('rollcall completion', () => {
  test('completion of a command offers the commands and options that begin so', () => {
    assert.deepEqual(completed('ser'), ['serve']);
    assert.deepEqual(completed('project', 'cre'), ['create']);
    assert.deepEqual(completed('serve', '--pres'), ['--presence-ttl-seconds', '--presence-merge-ms']);
    assert.deepEqual(completed('sync', 'roster.jsonl', '--dry'), ['--dry-run']);
  });

  test('completion of a value, and of what is no command, offers files', () => {
    assert.deepEqual(completed('export', '--output', 'completion.t'), ['completion.test.ts']);
    assert.deepEqual(completed('sync', 'completion.t'), ['completion.test.ts']);
  });

  test('completion of a file whose name has spaces is one word', () => {
    const name = 'roster of may.jsonl';
    writeFileSync(join(directory, name), '');
    assert.deepEqual(completedIn(directory, 'export', '--output', 'roster'), [name]);
    assert.deepEqual(completedIn(directory, 'sync', 'roster'), [name]);
  });

  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    test(`the completion of ${shell} is a script that ${shell} reads`, {
      skip: skipsWithout(shell, 'shells'),
    }, () => {
      const path = join(directory, shell);
      writeFileSync(path, completionScript(shell, table));
      const parsed = spawnSync(shell, ['-n', path], { encoding: 'utf8' });
      assert.deepEqual([parsed.status, parsed.stderr], [0, '']);
    });
  }

  test('the completion of zsh works in a zsh without any configuration, and offers what that of bash does', {
    skip: skipsWithout('zsh', 'shells'),
  }, () => {
    const path = join(directory, 'unconfigured');
    writeFileSync(path, completionScript('zsh', table));
    // zsh calls the function this way, and then offers what begins as the last word does.
    const script = `source ${path}
print -r -- $_comps[rollcall]
offered() {
  words=(rollcall "$@") CURRENT=$(($# + 1)) COMP_CWORD=$#; COMP_WORDS=("\${words[@]}")
  compgen -F _rollcall -- "\${words[CURRENT]}" | grep -e "^\${words[CURRENT]}"
}
offered ser; offered project cre; offered serve --pres`;
    const options = { encoding: 'utf8', env: { ...process.env, ZDOTDIR: directory } } as const;
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', script], options);
    const [registered = '', ...words] = stdout.trimEnd().split('\n');
    assert.match(registered, /_rollcall/);
    assert.deepEqual(words, ['serve', 'create', '--presence-ttl-seconds', '--presence-merge-ms']);
    assert.equal(stderr, '');
  });

  test('fish completes commands in the command that they are in alone', {
    skip: skipsWithout('fish', 'shells'),
  }, () => {
    const script = `${completionScript('fish', table)}\ncomplete -C 'rollcall project cr'\ncomplete -C 'rollcall se'`;
    const { stdout } = spawnSync('fish', ['-c', script], { encoding: 'utf8' });
    assert.deepEqual(
      stdout.split('\n').map((line) => line.split('\t')[0]),
      ['create', 'serve', ''],
    );
  });
});

describe('the manual page', () => {
  const page = manPage(table, { version: '1.2.3', date: '2026-01-15' });

  test('the manual page has each command that does something, and each of its options', () => {
    for (const { usage, commands, options } of table.slice(1)) {
      if (commands.length > 0) continue;
      assert.ok(page.includes(`.SS "${usage.replaceAll('-', '\\-')}`), usage);
      for (const { long } of options) assert.ok(page.includes(long.replaceAll('-', '\\-')), long);
    }
  });

  test('the manual page is what man shows without a warning', {
    skip: skipsWithout('man', 'man'),
  }, () => {
    const shown = spawnSync('man', ['--warnings', '-l', '-'], {
      input: page,
      encoding: 'utf8',
      env: { ...process.env, MANWIDTH: '100', LC_ALL: 'C.UTF-8' },
    });
    assert.deepEqual([shown.status, shown.stderr], [0, '']);
    assert.match(shown.stdout, /rollcall - who belongs/);
    assert.match(shown.stdout, /--presence-ttl-seconds/);
  });
});
