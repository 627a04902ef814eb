/** The tarballs of `npm run pack`, and projects in which they are installed. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import manifest from '../../../../package.json' with { type: 'json' };
import { UNMEASURED } from './programs.ts';

const runFile = promisify(execFile);
const npm = (args: readonly string[], cwd: string) =>
  runFile('npm', args, { cwd, env: { ...process.env, ...UNMEASURED } });
const ROOT = join(import.meta.dirname, '../../../..');
const DIST = join(ROOT, 'dist');
/** Has the fingerprint of the sources from which the tarballs were made. */
const MARKER = join(DIST, 'sources');
const LOCK = join(ROOT, 'node_modules/.cache/pack.lock');
/** Other files of tests may be packing; it takes a tenth of this. */
const LOCK_TIMEOUT_MS = 600_000;
/** What the tarballs are made from. */
const SOURCES = [
  'package.json',
  'tsconfig.json',
  'packages/{build-package,pack,packed-pages}.ts',
  'docs/*.md',
  'packages/*/{package.json,tsconfig.build.json,build.ts,README.md,LICENSE}',
  'packages/{client,protocol,react,server}/{bin,src}/**/*.*',
];

export type PackageName = 'server' | 'client' | 'react';

/** Packs what has changed since the last time, once for all files of tests. */
export function packPackages(): Promise<Readonly<Record<PackageName, string>>> {
  packed ??= pack();
  return packed;
}

let packed: ReturnType<typeof pack> | undefined;

async function pack(): Promise<Readonly<Record<PackageName, string>>> {
  // The lock ends with this process, however that ends.
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const lock = new DatabaseSync(LOCK, { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    const sources = fingerprint();
    if (!existsSync(MARKER) || readFileSync(MARKER, 'utf8') !== sources) {
      await npm(['run', 'pack'], ROOT);
      writeFileSync(MARKER, sources);
    }
  } finally {
    lock.close();
  }
  const path = (name: PackageName) => join(DIST, `rollcall-${name}-${manifest.version}.tgz`);
  return { server: path('server'), client: path('client'), react: path('react') };
}

function fingerprint(): string {
  const hash = createHash('sha256');
  for (const file of globSync(SOURCES, { cwd: ROOT }).sort()) {
    hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex');
}

/**
 * Makes `directory` a project with these packages of ours, and these of others in the versions of this repository. They
 * come from npm's cache, where it has them.
 */
export async function installPackages(
  directory: string,
  ours: readonly PackageName[],
  others: readonly string[] = [],
): Promise<void> {
  const tarballs = await packPackages();
  const versions = others.map((name) => `${name}@${manifest.devDependencies[name as 'react']}`);
  await writeFile(join(directory, 'package.json'), '{"type": "module", "private": true}');
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const packages = [...ours.map((name) => tarballs[name]), ...versions];
  await npm(['install', ...quietly, ...packages], directory);
}
