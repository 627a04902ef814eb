/** What a process loads, since that is most of the time of its start. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, KNOWN, rollcall, type ServeProcess, withServe } from './cli-process.ts';

/** Writes the parts of Node's fetch that the process has loaded to its standard error. */
const listFetch = `process.on('exit', () => process.stderr.write(process.moduleLoadList.filter((name) => name.includes('undici')).join()))`;
const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(listFetch)}` };

describe('starts without the fetch of Node', () => {
  test('a command does not load the fetch of Node', async () => {
    const { code, stderr } = await rollcall(['token', '--help'], { program: CHECKOUT, env });
    assert.deepEqual([code, stderr], [0, '']);
  });

  test('a server does not load the fetch of Node', () =>
    withDataDir(async (dataDir) => {
      const stop = ({ process: serving }: ServeProcess) => {
        serving.signal('SIGTERM');
        return serving.ended;
      };
      const { code, stderr } = await withServe(dataDir, KNOWN, stop, { env });
      assert.deepEqual([code, stderr], [0, '']);
    }));
});
