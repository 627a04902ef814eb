/** What is in the tarballs that are published. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { builtinModules, type SourceMapPayload } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { anchorsIn, linksIn, ROOT, readPage } from '../docs/markdown.ts';
import { type PackageName, packPackages } from '../support/packed.ts';
import { directoryOfFile } from '../support/temporary-directory.ts';

const NAMES = ['server', 'client', 'react'] as const satisfies PackageName[];
/** The packages are ES modules with `exports`: older resolutions, and `require` before Node 22, have none. */
const OLD_RESOLUTIONS = ['node10', 'node16-cjs'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const directory = directoryOfFile('published');

const tarball = async (name: PackageName): Promise<Uint8Array<ArrayBuffer>> =>
  Uint8Array.from(await readFile((await packPackages())[name]));

/** The folder of the unpacked tarball. */
async function unpacked(name: PackageName): Promise<string> {
  const file = (await packPackages())[name];
  execFileSync('tar', ['-xzf', file, '-C', directory, '--one-top-level', '--strip-components=1']);
  return join(directory, file.replace(/^.*\/|\.tgz$/g, ''));
}

for (const name of NAMES) {
  describe(`the package @rollcall/${name}`, () => {
    test(`publint has no message on @rollcall/${name}`, async () => {
      const { messages } = await publint({ pack: { tarball: (await tarball(name)).buffer }, strict: true });
      assert.deepEqual(messages, []);
    });

    test(`the types of @rollcall/${name} are found by every resolution of ES modules`, async () => {
      const checked = await checkPackage(createPackageFromTarballData(await tarball(name)));
      assert.ok(checked.types !== false);
      const problems = checked.problems.filter(
        (problem) => !('resolutionKind' in problem && OLD_RESOLUTIONS.includes(problem.resolutionKind)),
      );
      assert.deepEqual(problems, []);
    });

    test(`@rollcall/${name} has its licence, code, types and source maps, and neither tests nor sources`, async () => {
      const files = globSync('**/*.*', { cwd: await unpacked(name) }).sort();
      const others = files.filter((file) => !/^(?:dist|bin)\/|^docs\/[\w-]+\.md$/.test(file));
      assert.deepEqual(others, ['README.md', 'package.json']);
      assert.match(await readFile(join(await unpacked(name), 'LICENSE'), 'utf8'), /^MIT License/);
      assert.deepEqual(
        files.filter((file) => /(?:(?<!\.d)\.ts|tsconfig.*|\.test\..*)$|(?:^|\/)test\//.test(file)),
        [],
      );
      const withoutMap = files.filter(
        (file) => /(?<!\.client)\.js$/.test(file) && !files.includes(`${file}.map`),
      );
      assert.deepEqual(withoutMap, []);
      assert.equal(files.includes('dist/rollcall.1'), name === 'server');
    });

    test(`the source maps of @rollcall/${name} lead from its code to the text of its sources`, async () => {
      const folder = await unpacked(name);
      const maps = globSync('dist/**/*.js.map', { cwd: folder });
      assert.ok(maps.length > 5);
      for (const path of maps) {
        const map: SourceMapPayload = JSON.parse(await readFile(join(folder, path), 'utf8'));
        const code = await readFile(join(folder, path.slice(0, -'.map'.length)), 'utf8');
        assert.ok(code.trimEnd().endsWith(`\n//# sourceMappingURL=${basename(path)}`), path);
        assert.match(map.sources.join(), /^[^,]+\.tsx?$/, path);
        assert.ok(map.sourcesContent[0], path);
        // A module of types has no code that a map could lead from.
        const hasCode = !code.startsWith('export {};');
        assert.equal(map.mappings.length > 0, hasCode, path);
      }
    });

    test(`the pages of @rollcall/${name} link to files and headings of the package`, async () => {
      const folder = await unpacked(name);
      const pages = globSync('{README,docs/*}.md', { cwd: folder });
      assert.ok(pages.length > 1);
      for (const page of pages) {
        for (const target of linksIn(await readFile(join(folder, page), 'utf8'))) {
          if (/^[a-z]+:/.test(target)) continue;
          const [path = '', anchor] = target.split('#');
          const file = path === '' ? page : join(dirname(page), path);
          assert.ok(pages.includes(file), `${page}: ${target}`);
          if (anchor === undefined) continue;
          const anchors = anchorsIn(await readFile(join(folder, file), 'utf8'));
          assert.ok(anchors.includes(anchor), `${page}: ${target}`);
        }
      }
    });

    test(`@rollcall/${name} imports its own files and what its manifest declares`, async () => {
      const folder = await unpacked(name);
      const manifest: Manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
      const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
      const files = new Set(globSync('**/*.*', { cwd: folder }));
      for (const file of files) {
        if (!/\.(?:js|mjs|d\.ts)$/.test(file)) continue;
        const text = await readFile(join(folder, file), 'utf8');
        for (const imported of importsOf(text).filter((each) => each !== CHECKOUT)) {
          const isFile = imported.startsWith('.') && files.has(join(file, '..', imported));
          const isDeclared = declared.some((each) => imported === each || imported.startsWith(`${each}/`));
          assert.ok(isFile || isDeclared || isBuiltin(imported), `${file} imports ${imported}`);
        }
      }
    });

    test(`@rollcall/${name} names no path of the machine that packed it`, async () => {
      const folder = await unpacked(name);
      for (const file of globSync('**/*.*', { cwd: folder })) {
        const text = await readFile(join(folder, file), 'utf8');
        for (const path of [ROOT, `${homedir()}/`]) assert.ok(!text.includes(path), `${file}: ${path}`);
      }
    });
  });
}

/** What a module imports, also late and for a thread. */
function importsOf(text: string): string[] {
  const patterns = [
    /^(?:import|export)\b[^'"]*?\bfrom\s+(['"])(?<name>[^'"]+)\1/gm,
    /^import\s+(['"])(?<name>[^'"]+)\1/gm,
    /\bimport\((['"])(?<name>[^'"]+)\1\)/g,
    /new URL\((['"])(?<name>[^'"]+\.\w+)\1, import\.meta\.url\)/g,
    /import\.meta\.resolve\((['"])(?<name>[^'"]+)\1\)/g,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(({ groups }) => groups?.name ?? ''));
}

/** Beside the launcher in a checkout only. */
const CHECKOUT = './checkout.mjs';

const isBuiltin = (name: string) => name.startsWith('node:') || builtinModules.includes(name);

test('every package has the version of the project, and requires that version of the others', async () => {
  const { version }: Manifest = JSON.parse(readPage('package.json'));
  for (const file of globSync('packages/{client,protocol,react,server}/package.json', { cwd: ROOT })) {
    const manifest: Record<string, unknown> = JSON.parse(readPage(file));
    assert.equal(manifest.version, version, file);
    const ranges = ['dependencies', 'devDependencies', 'peerDependencies'].flatMap((kind) =>
      Object.entries((manifest[kind] ?? {}) as Record<string, string>),
    );
    for (const [name, range] of ranges)
      if (name.startsWith('@rollcall/')) assert.equal(range, version, `${name} of ${file}`);
  }
});
