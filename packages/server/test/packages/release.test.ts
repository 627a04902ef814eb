import assert from 'node:assert/strict';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import manifest from '../../../../package.json' with { type: 'json' };
import { ROOT, readPage } from '../docs/markdown.ts';
import { withDataDir } from '../support/server.ts';
import { runModule } from './run-module.ts';

const NEXT = '7.8.9';
/** Files that may name the version. */
const FILES = [
  'package.json',
  '*.md',
  '{docs,deploy,examples,.ci}/**/*.*',
  'deploy/Dockerfile',
  'packages/*/{package.json,README.md}',
  'packages/*/src/**/*.*',
];
const version = new RegExp(`(?<![\\d.])${manifest.version.replaceAll('.', '\\.')}(?![\\d.]*\\d)`);
/** The history names older versions too. */
const namesVersion = (file: string) => file !== 'CHANGELOG.md' && version.test(readPage(file));

test('npm version changes every file that names the version, and begins a section of the CHANGELOG', () =>
  withDataDir(async (copy) => {
    const exclude = ['**/node_modules/**', '**/dist/**', '**/*.{png,gz,svg}'];
    const files = globSync(FILES, { cwd: ROOT, exclude }).filter(namesVersion);
    assert.ok(files.length > 8);
    for (const file of [...files, 'package-lock.json', 'CHANGELOG.md', 'README.md'])
      cpSync(join(ROOT, file), join(copy, file));
    const text = readFileSync(join(copy, 'package.json'), 'utf8');
    writeFileSync(
      join(copy, 'package.json'),
      text.replace(`"version": "${manifest.version}"`, `"version": "${NEXT}"`),
    );
    await runModule(process.execPath, [join(ROOT, 'packages/set-version.ts')], copy);
    for (const file of files) {
      const changed = readFileSync(join(copy, file), 'utf8');
      assert.doesNotMatch(changed, version, file);
      assert.equal(changed.replaceAll(NEXT, manifest.version), readPage(file), file);
    }
    const lock = JSON.parse(readFileSync(join(copy, 'package-lock.json'), 'utf8'));
    const { client, react } = {
      client: lock.packages['packages/client'],
      react: lock.packages['packages/react'],
    };
    assert.deepEqual(
      [lock.version, lock.packages[''].version, client.version, react.peerDependencies['@rollcall/client']],
      [NEXT, NEXT, NEXT, NEXT],
    );
    const changelog = readFileSync(join(copy, 'CHANGELOG.md'), 'utf8');
    assert.match(changelog, new RegExp(`^## Unreleased\n\n## ${NEXT}\n`, 'm'));
  }));
