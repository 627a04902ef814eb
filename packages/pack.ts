/** Builds the packages that are published, and packs each as `dist/rollcall-NAME-VERSION.tgz`. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { packedPages } from './packed-pages.ts';

const DIST = join(import.meta.dirname, '../dist');

rmSync(DIST, { recursive: true, force: true });
mkdirSync(DIST);
for (const name of ['server', 'client', 'react']) {
  const source = join(import.meta.dirname, name);
  // Pages have other links in the package than in the repository, so the package is composed beside its source.
  const folder = mkdtempSync(join(tmpdir(), `rollcall-pack-${name}-`));
  try {
    run(process.execPath, ['build.ts'], source);
    const { files } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
    for (const file of ['package.json', 'LICENSE', ...files]) {
      if (file !== 'docs') cpSync(join(source, file), join(folder, file), { recursive: true });
    }
    for (const [path, text] of packedPages(name)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    run('npm', ['pack', '--pack-destination', DIST], folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(program: string, args: string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: 'inherit' });
}
