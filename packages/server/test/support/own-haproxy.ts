/** An HAProxy for one test that sends connections to the first of two servers that accepts them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, OwnProgram, withDirectory } from './own-program.ts';
import { findProgram, isRequired } from './programs.ts';

/** The path of the program. */
export const haproxy = findProgram(['haproxy'], ['/usr/sbin']);

/** Why tests behind HAProxy are skipped, or false: where it is required, its absence fails them. */
export const skipsHaproxy =
  haproxy === undefined && !isRequired('haproxy') ? 'there is no haproxy in the PATH or in /usr/sbin' : false;

/** Runs `use` with the port of an HAProxy in front of these ports of 127.0.0.1. */
export async function withHaproxy<Result>(
  [first, second]: readonly [number, number],
  use: (port: number) => Promise<Result>,
): Promise<Result> {
  if (haproxy === undefined) throw new Error('there is no haproxy');
  return await withDirectory('haproxy', async (directory) => {
    const port = await freePort();
    const file = join(directory, 'haproxy.cfg');
    const lines = [
      'defaults',
      '  mode tcp',
      '  timeout connect 1s',
      '  timeout client 1h',
      '  timeout server 1h',
      'listen servers',
      `  bind 127.0.0.1:${port}`,
      '  default-server check inter 200ms fall 1 rise 1 on-marked-down shutdown-sessions',
      `  server first 127.0.0.1:${first}`,
      `  server second 127.0.0.1:${second} backup`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    await using _running = await OwnProgram.start(directory, haproxy, '-db', '-f', file);
    return await use(port);
  });
}
