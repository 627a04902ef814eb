/** What `rollcall doctor` finds of a server that answers, and is not as it should be. */
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { CLOCK_TOLERANCE_MS } from '../../src/core/clock.ts';
import { withDataDir } from '../support/server.ts';
import { rollcall } from './cli-process.ts';

/** By path; what has no answer here is answered 200. */
type Answers = Readonly<Record<string, (response: ServerResponse) => void>>;

const answering =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers).end();
  };

/** The outcomes of the checks of a server with these answers, and the exit code. */
const outcomes = (answers: Answers): Promise<(string | number | null)[]> =>
  withDataDir(async (dataDir) => {
    await using server = createServer(({ url = '' }, response) => {
      (answers[url] ?? answering(200))(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    // A path of its own, and a slash at its end.
    const url = `http://127.0.0.1:${port}/below/`;
    const { code, stdout } = await rollcall(['doctor', '--json', '--url', url, '--data-dir', dataDir]);
    const checks = JSON.parse(stdout) as { name: string; outcome: string }[];
    const ofServer = checks.filter(({ name }) => name.startsWith('server'));
    return [...ofServer.map(({ name, outcome }) => `${name}: ${outcome}`), code];
  });

const dated = (aheadMs: number) => {
  const date = new Date(Date.now() + aheadMs).toUTCString();
  return { '/below/healthz': answering(200, { date }) };
};

describe('rollcall doctor, of a server', () => {
  test('rollcall doctor fails where a server is alive and not ready', async () => {
    const notReady = { '/below/readyz': answering(503) };
    assert.deepEqual(await outcomes(notReady), [
      'server alive: ok',
      'server ready: failed',
      'server clock: ok',
      1,
    ]);
  });

  test('rollcall doctor fails where the URL is of another program', async () => {
    const other = { '/below/healthz': answering(404), '/below/readyz': answering(404) };
    assert.deepEqual(await outcomes(other), [
      'server alive: failed',
      'server ready: failed',
      'server clock: ok',
      1,
    ]);
  });

  test('rollcall doctor fails where the clock of the server is ahead or behind by more than the tolerance of tokens', async () => {
    const beyond = 2 * CLOCK_TOLERANCE_MS;
    const alive = ['server alive: ok', 'server ready: ok'];
    for (const aheadMs of [beyond, -beyond])
      assert.deepEqual(await outcomes(dated(aheadMs)), [...alive, 'server clock: failed', 1]);
    assert.deepEqual(await outcomes(dated(CLOCK_TOLERANCE_MS / 2)), [...alive, 'server clock: ok', 0]);
  });

  test('rollcall doctor skips the clock of a server that sends no Date', async () => {
    const undated = {
      '/below/healthz': (response: ServerResponse) => {
        response.sendDate = false;
        response.end();
      },
    };
    assert.deepEqual(await outcomes(undated), [
      'server alive: ok',
      'server ready: ok',
      'server clock: skipped',
      0,
    ]);
  });
});
