/** A server on the embedded store in a process of its own, and the requests of tests about its files. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { KNOWN, type Request, requestsTo, type ServeProcess, withServe } from '../cli/cli-process.ts';
import { until } from '../support/waiting.ts';

export const POLL_MS = 50;

export interface Served extends ServeProcess {
  readonly request: Request;
  readonly pid: number;
}

/** A server with a user whose write was acknowledged and is in the log alone. */
export const withUser = (dataDir: string, use: (server: Served) => Promise<void>) =>
  withServe(dataDir, KNOWN, async (server) => {
    const request = requestsTo(server.url);
    assert.equal((await request('PUT', '/v1/users/ada', { name: 'Ada' })).status, 200);
    const [, pid] = await server.process.output(/"pid":(\d+)/);
    await use({ ...server, request, pid: Number(pid) });
  });

export async function readyStatus(request: Request, status: number): Promise<void> {
  await until(`readiness of ${status}`, async () => (await request('GET', '/readyz')).status === status);
}

/** The one fatal line of the log. */
export function fatalLine(stdout: string): string {
  const lines = stdout.split('\n').filter((line) => line.startsWith('{"level":60'));
  assert.equal(lines.length, 1, stdout);
  return JSON.parse(lines[0] as string).msg;
}

export async function expectUnwritable({ request, process: server }: Served, line: RegExp): Promise<void> {
  const write = await request('PUT', '/v1/users/bob', { name: 'Bob' });
  assert.deepEqual([write.status, write.json<{ error: string }>().error], [503, 'error']);
  assert.match(String(write.headers['retry-after']), /^\d+$/);
  assert.equal((await request('GET', '/readyz')).status, 503);
  assert.equal((await request('GET', '/healthz')).status, 200);
  await server.output(/"level":60[^\n]*\n/);
  assert.match(fatalLine(server.stdout), line);
}

export async function stop({ process: server }: ServeProcess): Promise<void> {
  server.signal('SIGTERM');
  const { code, stderr } = await server.ended;
  assert.deepEqual([code, stderr], [0, '']);
}

export const named = (dataDir: string) => (suffix: string) => join(dataDir, `rollcall.db${suffix}`);
