import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadSettings } from '../../src/config/settings.ts';
import { unknownVariables } from '../../src/config/unknown-variables.ts';
import { withDataDir } from '../support/server.ts';
import { ROOT, readPage } from './markdown.ts';

const unit = readPage('deploy/rollcall.service');
const noSystemd =
  spawnSync('systemd-analyze', ['--version']).error === undefined
    ? false
    : 'this machine has no systemd-analyze';

describe('deploy/rollcall.service', () => {
  test('deploy/rollcall.service starts an existing file of the project, with existing settings', () => {
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    const [node = '', script = '', ...args] = command.split(' ');
    for (const file of [node, script]) assert.ok(existsSync(file.replace('/opt/rollcall', ROOT)), file);
    assert.deepEqual(args, ['serve']);
    const text = readPage('deploy/rollcall.env.example').replaceAll(/^#(?=ROLLCALL_)/gm, '');
    const pairs = [...text.matchAll(/^(ROLLCALL_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]);
    const environment = Object.fromEntries(pairs) as Record<string, string>;
    assert.deepEqual(unknownVariables(environment), []);
    const secrets = { ROLLCALL_CUSTOMER_SECRET: 'x'.repeat(16), ROLLCALL_PROJECT_SECRET: 'x'.repeat(16) };
    assert.notEqual(loadSettings({ ...environment, ...secrets }).databaseUrl, null);
  });

  test('deploy/rollcall.service is a unit that systemd accepts', { skip: noSystemd }, () =>
    withDataDir(async (directory) => {
      const file = join(directory, 'rollcall.service');
      writeFileSync(file, unit.replaceAll('/opt/rollcall', ROOT));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      const complaints = stderr.split('\n').filter((line) => line.includes('rollcall.service'));
      assert.deepEqual(complaints, []);
    }),
  );
});
