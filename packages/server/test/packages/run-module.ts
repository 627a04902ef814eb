import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../cli/cli-process.ts';
import { UNMEASURED } from '../support/programs.ts';

const run = promisify(execFile);
/** No program of a test takes a tenth of this. */
const LIMIT_MS = 120_000;

/** Runs a program of a host to its end, without the settings of the test run. @throws Error where it fails or does not end */
export const runModule = (
  node: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<{ stdout: string; stderr: string }> =>
  run(node, args, { cwd, env: cleanEnvironment({ ...UNMEASURED, ...env }), timeout: LIMIT_MS });
