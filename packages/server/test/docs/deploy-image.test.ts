/** Compares the image's files with the program, without Docker. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import manifest from '../../../../package.json' with { type: 'json' };
import { loadSettings } from '../../src/config/settings.ts';
import { unknownVariables } from '../../src/config/unknown-variables.ts';
import { KNOWN, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { dockerfile, imageEnvironment, instruction } from './dockerfile.ts';
import { ROOT, readPage } from './markdown.ts';

describe('deploy/Dockerfile', () => {
  test('deploy/Dockerfile has the Node that the project installs', () => {
    const [node, ...others] = new Set(Object.values(manifest.optionalDependencies));
    assert.deepEqual(others, []);
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    assert.deepEqual(bases, [`node:${node}-slim`, `node:${node}-slim`]);
  });

  test('deploy/Dockerfile copies paths that exist and that .dockerignore does not exclude', () => {
    const passed = readPage('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    assert.deepEqual(sources.toSorted(), passed.toSorted());
    for (const source of sources) assert.ok(existsSync(join(ROOT, source)), source);
  });

  test('deploy/Dockerfile runs the program without root, with existing settings', () => {
    assert.deepEqual(instruction('USER'), ['node']);
    assert.deepEqual(unknownVariables(imageEnvironment()), []);
    const { host, port, dataDir } = loadSettings(imageEnvironment());
    assert.deepEqual(
      [host, [`${port}`], [dataDir]],
      ['0.0.0.0', instruction('EXPOSE'), instruction('VOLUME')],
    );
    const [command, script = '', ...args] = JSON.parse(instruction('CMD')[0] as string) as string[];
    assert.deepEqual([command, args], ['node', ['serve']]);
    assert.ok(existsSync(join(ROOT, script)), script);
  });

  test('deploy/Dockerfile has a health check that fails without a running server', async () => {
    const [, words = ''] = /^HEALTHCHECK .*?CMD (\[.*\])$/m.exec(dockerfile) ?? [];
    const [command, ...args] = JSON.parse(words) as string[];
    assert.equal(command, 'node');
    const check = async (port: string) => {
      const child = spawn(process.execPath, args, { env: { ROLLCALL_PORT: port }, stdio: 'ignore' });
      const [code] = await once(child, 'exit');
      return code;
    };
    await withDataDir(undefined, (dataDir) =>
      withServe(dataDir, KNOWN, async ({ url }) => {
        assert.equal(await check(new URL(url).port), 0);
      }),
    );
    assert.equal(await check('1'), 1);
  });
});
