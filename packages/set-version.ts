/**
 * `npm version` runs this after it has changed the version of package.json, which is the one place that people change: writes the
 * version into all other files that name it, and begins a section of the CHANGELOG.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const PACKAGES = ['packages/client', 'packages/protocol', 'packages/react', 'packages/server'];
/** Texts that may name the version. The CHANGELOG and the lock file name others too. */
const TEXTS = globSync(
  ['README.md', '{docs,deploy}/**/*.*', 'deploy/Dockerfile', 'packages/*/{README.md,src/**/*.ts}'],
  {
    cwd: process.cwd(),
    exclude: ['**/node_modules/**', '**/*.{png,gz}'],
  },
);

interface Manifest {
  version: string;
  [field: string]: unknown;
}

const root = process.cwd();
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const write = (file: string, text: string) => writeFileSync(join(root, file), text);
const writeJson = (file: string, value: unknown) => write(file, `${JSON.stringify(value, null, 2)}\n`);

const { version }: Manifest = JSON.parse(read('package.json'));
const { version: before }: Manifest = JSON.parse(read('packages/server/package.json'));

/** Sets the version of a package of ours, and of those among its dependencies. */
function raise(manifest: Manifest): Manifest {
  const raised: Manifest = { ...manifest, version };
  for (const kind of ['dependencies', 'devDependencies', 'peerDependencies']) {
    const ranges = Object.entries((manifest[kind] ?? {}) as Record<string, string>);
    if (ranges.length === 0) continue;
    raised[kind] = Object.fromEntries(
      ranges.map(([name, range]) => [name, name.startsWith('@rollcall/') ? version : range]),
    );
  }
  return raised;
}

for (const directory of PACKAGES) {
  const file = `${directory}/package.json`;
  writeJson(file, raise(JSON.parse(read(file))));
}
const lock: { version: string; packages: Record<string, Manifest> } = JSON.parse(read('package-lock.json'));
lock.version = version;
for (const path of ['', ...PACKAGES]) lock.packages[path] = raise(lock.packages[path] as Manifest);
writeJson('package-lock.json', lock);

const named = new RegExp(`(?<![\\d.])${before.replaceAll('.', '\\.')}(?![\\d.]*\\d)`, 'g');
for (const file of TEXTS) {
  const text = read(file);
  const changed = text.replaceAll(named, version);
  if (changed !== text) write(file, changed);
}
write('CHANGELOG.md', read('CHANGELOG.md').replace('## Unreleased\n', `## Unreleased\n\n## ${version}\n`));
