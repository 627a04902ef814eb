/** Builds the packages that are published, and packs each as `dist/rollcall-NAME-VERSION.tgz`. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packedPages } from './packed-pages.ts';

const DIST = join(import.meta.dirname, '../dist');

const NAMES = ['server', 'client', 'react'];

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST);
// The compiler is loaded once for all.
for (const name of NAMES) await import(`./${name}/build.ts`);
// Pages have other links in the package than in the repository, so the package is composed beside its source.
const folder = mkdtempSync(join(tmpdir(), 'rollcall-pack-'));
try {
  for (const name of NAMES) compose(name, join(folder, name));
  const folders = NAMES.map((name) => `./${name}`);
  execFileSync('npm', ['pack', ...folders, '--pack-destination', DIST], { cwd: folder, stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true });
}

function compose(name: string, target: string): void {
  const source = join(import.meta.dirname, name);
  const { files } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  for (const file of ['package.json', 'LICENSE', ...files]) {
    if (file !== 'docs') cpSync(join(source, file), join(target, file), { recursive: true });
  }
  for (const [path, text] of packedPages(name)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  }
}
