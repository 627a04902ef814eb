import { join } from 'node:path';
import process from 'node:process';
import { runModule } from './run-module.ts';

/**
 * What is wrong with the types of a file of a project, and with the declarations of our packages that it reaches, under each of
 * these settings of the compiler: an empty text where that is nothing. Unless they have `noEmit`, it is compiled too.
 */
export async function typeProblems(
  project: string,
  file: string,
  settings: readonly object[],
): Promise<string[]> {
  const args = [join(import.meta.dirname, 'compile.ts'), join(project, file)];
  const { stdout } = await runModule(
    process.execPath,
    [...args, ...settings.map((each) => JSON.stringify(each))],
    project,
  );
  return JSON.parse(stdout);
}
