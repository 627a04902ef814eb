/** The tools of `generators/`, which are installed by themselves. */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { isRequired, UNMEASURED } from '../support/programs.ts';

export const TOOLS = join(import.meta.dirname, '../../../../generators');

/** Why tests with these tools are skipped, or false. */
export const skipsGenerators =
  !existsSync(join(TOOLS, 'node_modules')) && !isRequired('generators')
    ? 'the tools are not installed: npm ci --ignore-scripts --prefix generators'
    : false;

const runFile = promisify(execFile);

/** Runs a script of the tools, or of what they made, on the Node of the tests. @throws Error with what it printed */
export async function runScript(
  path: string,
  args: readonly string[],
  { cwd = TOOLS, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const running = runFile(process.execPath, [path, ...args], {
    cwd,
    env: { ...process.env, ...UNMEASURED, ...env },
    maxBuffer: 64 * 1_024 * 1_024,
  });
  const { stdout } = await running.catch((error) => {
    throw new Error(`${path} failed:\n${error.stdout}\n${error.stderr}`, { cause: error });
  });
  return stdout;
}

/** Gives a script of the tools documents on its standard input, and returns what it prints of each. The tools start slowly. */
export async function judge<Result>(script: string, documents: readonly string[]): Promise<Result[]> {
  const env = { ...process.env, ...UNMEASURED };
  const child = spawn(process.execPath, [join(TOOLS, script)], { stdio: ['pipe', 'pipe', 'inherit'], env });
  child.stdin.end(JSON.stringify(documents));
  return JSON.parse(await text(child.stdout)) as Result[];
}
