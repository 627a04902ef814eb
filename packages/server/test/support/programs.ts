/** Programs and servers that a test needs: whether they exist here, and whether their absence is a failure. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';

/**
 * For the environment of programs that run no file of `packages/NAME/src`. To measure which lines of a program run takes as long
 * as the program, and children are measured unless they get this.
 */
export const UNMEASURED = { NODE_V8_COVERAGE: '' };

/** Whether ROLLCALL_TEST_REQUIRE names it: then its absence fails the tests instead of skipping them. */
export const isRequired = (
  name:
    | 'postgres'
    | 'redis'
    | 'chromium'
    | 'prometheus'
    | 'kubernetes-tools'
    | 'pgbouncer'
    | 'haproxy'
    | 'node-24'
    | 'node-20'
    | 'bun'
    | 'generators'
    | 'shells'
    | 'man'
    | 'pyjwt',
): boolean => (process.env.ROLLCALL_TEST_REQUIRE ?? '').includes(name);

/** The path of the first of these programs in the PATH or in one of the further directories. */
export function findProgram(
  names: readonly string[],
  directories: readonly string[] = [],
): string | undefined {
  return [...(process.env.PATH ?? '').split(delimiter), ...directories]
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find(isExecutable);
}

/** The first Node in the PATH whose version, such as `v20.20.2`, matches. */
export function findNode(version: RegExp): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, 'node'))
    .find((node) => isExecutable(node) && version.test(versionOf(node)));
}

function versionOf(node: string): string {
  try {
    return execFileSync(node, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return '';
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
