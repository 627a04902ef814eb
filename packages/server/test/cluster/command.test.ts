/** `npm run cluster` from outside. */
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { ROOT } from '../docs/markdown.ts';
import { runInBash } from '../docs/page-examples.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { type SharedServers, skip, withSharedServers } from './cluster-case.ts';

/** The script in a process of its own. npm would not pass on the exit code. */
class ClusterCommand {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  stdout = '';
  stderr = '';

  constructor({ databaseUrl, redisUrl }: SharedServers, ...args: string[]) {
    const { PATH } = process.env;
    this.#child = spawn(process.execPath, [join(ROOT, 'cluster/cluster.ts'), '--port', '0', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH, ROLLCALL_DATABASE_URL: databaseUrl, ROLLCALL_REDIS_URL: redisUrl },
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
  }

  /** The lines to paste, as soon as it prints them. */
  async pasted(): Promise<string> {
    await until('the announcement', () => this.stdout.includes('Ctrl-C') || this.#child.exitCode !== null);
    const [lines] = /^TOKEN=.*\n(?:curl .*\n)+/m.exec(this.stdout) ?? [];
    assert.ok(lines !== undefined, `${this.stdout}${this.stderr}`);
    return lines;
  }

  /** Its exit code, when it has ended. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, 'close');
    return this.#child.exitCode;
  }

  /** Makes the script stop all processes that it started, and returns its exit code. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal);
    return this.ended();
  }
}

/** Runs the command for as long as `use` runs. */
async function withCommand(
  servers: SharedServers,
  args: readonly string[],
  use: (command: ClusterCommand) => Promise<void>,
): Promise<void> {
  const command = new ClusterCommand(servers, ...args);
  try {
    await use(command);
  } finally {
    await command.stop();
  }
}

/** Pastes the lines into a shell, and gives the answers. */
async function paste(lines: string): Promise<string> {
  return await withDataDir(async (directory) => {
    const [output = ''] = await runInBash([lines], { url: 'http://127.0.0.1', directory });
    return output;
  });
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const noCurl = spawnSync('curl', ['--version']).error === undefined ? false : 'this machine has no curl';

describe('npm run cluster', { skip: skip || noCurl }, () => {
  test('npm run cluster prints commands that work as pasted, also after a process is killed, and a signal ends all', () =>
    withSharedServers((servers) =>
      withCommand(servers, [], async (command) => {
        const lines = await command.pasted();
        const pids = [...command.stdout.matchAll(/kill -9 (\d+)/g)].map(([, pid]) => Number(pid));
        assert.equal(pids.length, 3, command.stdout);
        assert.match(await paste(lines), /created group analysts/);
        process.kill(pids[1] as number, 'SIGKILL');
        await until('the death', () => command.stderr.includes('2 | ended: SIGKILL'));
        assert.match(await paste(lines), /"members":\["ada"\]/);
        assert.equal(await command.stop('SIGINT'), 0, command.stderr);
        assert.deepEqual(pids.filter(isThere), []);
        assert.ok(!command.stdout.includes('secret'), command.stdout);
      }),
    ));

  test('npm run cluster signs its token with the current secret of the project when it starts again', () =>
    withSharedServers(async (servers) => {
      for (const done of ['created', 'updated']) {
        await withCommand(servers, ['--processes', '1'], async (command) => {
          assert.match(await paste(await command.pasted()), new RegExp(`${done} user ada`));
        });
      }
    }));

  const missing: [string, Partial<SharedServers>][] = [
    ['PostgreSQL', { databaseUrl: 'postgres://u:hunter2@127.0.0.1:1/x' }],
    ['Redis', { redisUrl: 'redis://:hunter2@127.0.0.1:1' }],
  ];
  for (const [name, elsewhere] of missing) {
    test(`npm run cluster reports that ${name} cannot be reached, and exits with 1`, () =>
      withSharedServers((servers) =>
        withCommand({ ...servers, ...elsewhere }, ['--processes', '1'], async (command) => {
          assert.equal(await command.ended(), 1);
          assert.match(command.stderr, new RegExp(`^cluster: .*${name}.* 127\\.0\\.0\\.1:1`, 'm'));
          assert.ok(!command.stderr.includes('hunter2'), command.stderr);
        }),
      ));
  }
});
