/** The disk of the data directory becomes full under a running server, and gets free space again. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { KNOWN, requestsTo, rollcall, withServe } from '../cli/cli-process.ts';
import { type Answer, send } from '../support/http-client.ts';
import { withDataDir } from '../support/server.ts';

/** In a mount namespace of its own a test can mount a small file system, which ends with its processes. */
const IN_NAMESPACE = 'ROLLCALL_TEST_IN_NAMESPACE';
const unshare = ['--user', '--map-root-user', '--mount'];
const canMount = spawnSync('unshare', [...unshare, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
const skip = canMount ? false : 'this system lets no test mount a file system';

const METADATA = { text: 'm'.repeat(16_000) };

test('writes on a full disk are answered with 503 while reads continue, rollcall doctor reports the disk, and both succeed when there is space again', {
  skip,
}, async () => {
  if (process.env[IN_NAMESPACE] === undefined) {
    const env = { ...process.env, [IN_NAMESPACE]: '1', NODE_TEST_CONTEXT: undefined };
    const inner = spawnSync('unshare', [...unshare, process.execPath, import.meta.filename], {
      env,
      encoding: 'utf8',
    });
    assert.equal(inner.status, 0, inner.stdout + inner.stderr);
    return;
  }
  await withDataDir(async (parent) => {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', parent]);
    assert.equal(mounted.status, 0, String(mounted.stderr));
    await withServe(join(parent, 'data'), KNOWN, async ({ url, process: server }) => {
      const request = requestsTo(url);
      const put = (id: string) => request('PUT', `/v1/users/${id}`, { metadata: METADATA });
      const get = (path: string) => request('GET', path);
      const doctor = async () => {
        const args = ['doctor', '--json', '--url', url, '--data-dir', join(parent, 'data')];
        const { code, stdout } = await rollcall(args);
        const checks = JSON.parse(stdout) as { name: string; outcome: string }[];
        return [checks.find(({ name }) => name === 'free space')?.outcome, code];
      };
      let count = 0;
      let answer: Answer;
      for (;;) {
        answer = await put(`u${count}`);
        if (answer.status !== 200) break;
        count += 1;
      }
      assert.deepEqual([answer.status, answer.json<{ error: string }>().error], [503, 'error']);
      assert.equal((await get(`/v1/users/u${count - 1}`)).status, 200);
      assert.equal((await get(`/v1/users/u${count}`)).status, 401);
      assert.deepEqual(await doctor(), ['failed', 1]);
      spawnSync('mount', ['-o', 'remount,size=300m', parent]);
      assert.deepEqual(await doctor(), ['ok', 0]);
      assert.equal((await put(`u${count}`)).status, 200);
      assert.equal((await get('/readyz')).status, 200);
      server.signal('SIGTERM');
      const { code, stdout } = await server.ended;
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /"level":60/);
    });
    await withServe(join(parent, 'data'), KNOWN, async ({ url }) => {
      assert.equal((await send(url, 'GET', '/readyz')).status, 200);
    });
    assert.equal(spawnSync('umount', ['-l', parent]).status, 0);
  });
});
