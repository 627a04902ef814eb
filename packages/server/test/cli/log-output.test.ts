/** The log where its disk is full for a while. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { withDataDir } from '../support/server.ts';

const LOG_OUTPUT = new URL('../../src/log-output.ts', import.meta.url);
/** How long the text of the first line is. The rest of a line depends on the name of the machine. */
const FIRST = 300;
/**
 * The second line does not fit into the kilobyte that the file may have. Then there is room again, behind five letters of its text.
 */
const SCRIPT = `
  import { statSync, truncateSync } from 'node:fs';
  import { openLog } from '${LOG_OUTPUT}';
  const log = openLog('info');
  log.info('x'.repeat(${FIRST}));
  const { size } = statSync('log');
  log.info('y'.repeat(1_000));
  truncateSync('log', size + (size - ${FIRST} - '"}\\n'.length) + 5);
  log.info('there is room again');
  log.info('and for this line');
`;

test('a log line after one that was written in part is a line of its own', () =>
  withDataDir(async (cwd) => {
    await mkdir(cwd, { recursive: true });
    // A write beyond the limit writes what fits, and the next one fails, as on a full disk.
    const limited = 'trap "" XFSZ; ulimit -f 1; exec "$0" --input-type=module -e "$1" >> log';
    // The limit is one of every file that the process writes, of what coverage measures too.
    const env = { ...process.env, NODE_V8_COVERAGE: undefined };
    await promisify(execFile)('bash', ['-c', limited, process.execPath, SCRIPT], { cwd, env });
    const lines = readFileSync(join(cwd, 'log'), 'utf8').trimEnd().split('\n');
    assert.equal(lines.length, 4);
    const messages = [0, 2, 3].map((index) => JSON.parse(lines[index] as string).msg);
    assert.deepEqual(messages, ['x'.repeat(FIRST), 'there is room again', 'and for this line']);
    assert.match(lines[1] as string, /"msg":"yyyyy$/);
  }));
