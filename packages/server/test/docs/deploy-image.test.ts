/** Compares the image's files with the program, without Docker. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { describe, test } from 'node:test';
import { validate } from 'dockerfile-utils';
import manifest from '../../../../package.json' with { type: 'json' };
import { loadSettings } from '../../src/config/settings.ts';
import { unknownVariables } from '../../src/config/unknown-variables.ts';
import { KNOWN, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { commandOf, dockerfile, imageEnvironment, instruction } from './dockerfile.ts';
import { readPage } from './markdown.ts';

describe('deploy/Dockerfile', () => {
  test('deploy/Dockerfile has no problem that the validator of editors reports', () => {
    assert.deepEqual(validate(dockerfile), []);
    assert.notDeepEqual(validate(dockerfile.replace('WORKDIR', 'WORKDIRECTORY')), []);
  });

  test('deploy/Dockerfile has the Node that the project installs', () => {
    const [node, ...others] = new Set(Object.values(manifest.optionalDependencies));
    assert.deepEqual(others, []);
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
    assert.deepEqual(bases, [`node:${node}-slim`, `node:${node}-slim`]);
  });

  test('deploy/Dockerfile runs the program without root, with existing settings', () => {
    assert.deepEqual(instruction('USER'), ['1000:1000']);
    assert.deepEqual(unknownVariables(imageEnvironment()), []);
    const { host, port, dataDir } = loadSettings(imageEnvironment());
    assert.deepEqual(
      [host, [`${port}`], [dataDir]],
      ['0.0.0.0', instruction('EXPOSE'), instruction('VOLUME')],
    );
    assert.deepEqual(commandOf('CMD').slice(2), ['serve']);
  });

  test('deploy/Dockerfile and the manifests for Kubernetes give a start the same time', () => {
    const [, seconds] = /--start-period=(\d+)s/.exec(instruction('HEALTHCHECK')[0] ?? '') ?? [];
    const probe = /startupProbe:[\s\S]*?periodSeconds: (\d+)[\s\S]*?failureThreshold: (\d+)/;
    const [, period, failures] = probe.exec(readPage('deploy/kubernetes/base/deployment.yaml')) ?? [];
    assert.equal(Number(seconds), Number(period) * Number(failures));
  });

  test('deploy/Dockerfile has a health check that fails without a running server', async () => {
    const [command, ...args] = commandOf('HEALTHCHECK');
    assert.equal(command, 'node');
    const check = async (port: string) => {
      const child = spawn(process.execPath, args, { env: { ROLLCALL_PORT: port }, stdio: 'ignore' });
      const [code] = await once(child, 'exit');
      return code;
    };
    await withDataDir((dataDir) =>
      withServe(dataDir, KNOWN, async ({ url }) => {
        assert.equal(await check(new URL(url).port), 0);
      }),
    );
    assert.equal(await check('1'), 1);
  });
});
