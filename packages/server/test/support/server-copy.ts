/** A copy of the server's package, which tests start or change. */
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../../..');
const SERVER = 'packages/server';

/** Copies the sources into an empty folder, links the dependencies, and returns the folder of the package. */
export function copyServer(directory: string): string {
  const [from, to] = [join(ROOT, SERVER), join(directory, SERVER)];
  for (const name of ['bin', 'src', 'package.json'])
    cpSync(join(from, name), join(to, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  // Packages alone, without the cache of compiled sources.
  mkdirSync(join(to, 'node_modules'));
  for (const name of readdirSync(join(from, 'node_modules')).filter((each) => !each.startsWith('.')))
    symlinkSync(join(from, 'node_modules', name), join(to, 'node_modules', name));
  return to;
}
