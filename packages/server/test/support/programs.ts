/** Programs and servers that a test needs: whether they exist here, and whether their absence is a failure. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';

/** Whether ROLLCALL_TEST_REQUIRE names it: then its absence fails the tests instead of skipping them. */
export const isRequired = (name: 'postgres' | 'redis' | 'chromium'): boolean =>
  (process.env.ROLLCALL_TEST_REQUIRE ?? '').includes(name);

/** The path of the first of these programs in the PATH or in one of the further directories. */
export function findProgram(
  names: readonly string[],
  directories: readonly string[] = [],
): string | undefined {
  return [...(process.env.PATH ?? '').split(delimiter), ...directories]
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
