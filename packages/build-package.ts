/**
 * Builds the published `dist` of a package: JavaScript modules with source maps, and the types that its entries reach. The
 * private protocol package comes along, so that `dist` imports nothing of this repository.
 */
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import ts from 'typescript';

const PROTOCOL = join(import.meta.dirname, 'protocol/src');

/** Declarations by their source, to write in place of those of the compiler. */
type OwnTypes = (program: ts.Program) => ReadonlyMap<string, string>;

/** Compiles `src` of the package into `dist`, as its `tsconfig.build.json` says. Ends the process when that fails. */
export function buildPackage(directory: string, ownTypes: OwnTypes = () => new Map()): void {
  const { fileNames, options } = readConfig(directory);
  // Of most sources nobody reaches the types: they are not made.
  const program = ts.createProgram(fileNames, { ...options, declaration: false });
  // Files that are not listed belong to other packages; they are checked with the whole project.
  const sources = fileNames.map((name) => program.getSourceFile(name)).filter((file) => file !== undefined);
  failOn(
    [
      ...program.getGlobalDiagnostics(),
      ...sources.flatMap((file) => ts.getPreEmitDiagnostics(program, file)),
    ],
    directory,
  );
  const dist = join(directory, 'dist');
  const targets = new Map(sources.map((file) => [join(dist, pathInDist(file.fileName, directory)), file]));
  for (const [target, file] of targets) {
    program.emit(file, (path, text) => {
      if (path.endsWith('.map')) write(`${target}.js.map`, publishedMap(text, target, file.fileName));
      else write(`${target}.js`, publishedText(text, target, dist));
    });
  }
  const own = ownTypes(program);
  const host = { ...ts.createCompilerHost(options), getSourceFile: program.getSourceFile };
  const typed = ts.createProgram(fileNames, options, host, program);
  const reached = new Set(entryTypes(directory));
  for (const path of reached) {
    const target = path.replace(/\.d\.ts$/, '');
    const file = targets.get(target);
    if (file === undefined) throw new Error(`there is no source for ${path}`);
    const emitTypes = (_: string, text: string) => {
      const published = publishedText(own.get(file.fileName) ?? text, target, dist);
      write(path, published);
      for (const imported of importedTypes(path, published)) reached.add(imported);
    };
    failOn(typed.emit(file, emitTypes, undefined, true).diagnostics, directory);
  }
  copyOtherFiles(join(directory, 'src'), dist);
  for (const path of globSync(`${dist}/**/*.*`)) if (!written.has(path)) rmSync(path);
}

function readConfig(directory: string): ts.ParsedCommandLine {
  const path = join(directory, 'tsconfig.build.json');
  const { config, error } = ts.readConfigFile(path, ts.sys.readFile);
  failOn(error === undefined ? [] : [error], directory);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, directory);
  failOn(parsed.errors, directory);
  return parsed;
}

function failOn(diagnostics: readonly ts.Diagnostic[], directory: string): void {
  if (diagnostics.length === 0) return;
  const host = {
    getCanonicalFileName: (name: string) => name,
    getCurrentDirectory: () => directory,
    getNewLine: () => '\n',
  };
  process.stderr.write(ts.formatDiagnostics(diagnostics, host));
  process.exit(1);
}

/** The path of a source within `dist`, without its extension. The protocol has a folder of its own there. */
function pathInDist(source: string, directory: string): string {
  const inProtocol = relative(PROTOCOL, source);
  const path = inProtocol.startsWith('..')
    ? relative(join(directory, 'src'), source)
    : join('protocol', inProtocol);
  return path.replace(/\.ts$/, '');
}

/** The compiler leaves three kinds of reference to sources: in imports of types, to threads, and to the protocol. */
function publishedText(text: string, target: string, dist: string): string {
  const protocol = relative(dirname(target), join(dist, 'protocol/index.js'));
  return text
    .replaceAll(/(from\s+|import\()(['"]\.[^'"]*)\.ts(?=['"])/g, '$1$2.js')
    .replaceAll(/(new URL\(['"]\.[^'"]*)\.ts(?=['"], import\.meta\.url\))/g, '$1.js')
    .replaceAll(/(from\s+|import\()(['"])@rollcall\/protocol(?=['"])/g, `$1$2${relativeImport(protocol)}`);
}

const relativeImport = (path: string) => (path.startsWith('.') ? path : `./${path}`);

/** The map contains the source, which the package does not have as a file. */
function publishedMap(text: string, target: string, source: string): string {
  return JSON.stringify({
    ...JSON.parse(text),
    sourceRoot: '',
    sources: [relative(dirname(target), source)],
  });
}

/** The declarations that the `exports` of the package name. */
function entryTypes(directory: string): string[] {
  const { exports: entries } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return Object.values<{ types?: string }>(entries).flatMap(({ types }) =>
    types === undefined ? [] : [join(directory, types)],
  );
}

/** The declarations of this package that a declaration imports. */
const importedTypes = (path: string, text: string): string[] =>
  ts
    .preProcessFile(text)
    .importedFiles.flatMap(({ fileName }) =>
      fileName.startsWith('.') ? [join(dirname(path), fileName.replace(/\.js$/, '.d.ts'))] : [],
    );

/** Migrations, scripts and styles are read from beside the code. */
function copyOtherFiles(from: string, to: string): void {
  for (const file of globSync('**/*.*', { cwd: from, exclude: ['**/*.ts'] }))
    write(join(to, file), readFileSync(join(from, file)));
}

const written = new Set<string>();

/** At no time is a file absent or half-written that was there before: another process may be importing it. */
function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.partial`;
  writeFileSync(partial, content);
  renameSync(partial, path);
  written.add(path);
}
