/** Builds the published `dist` of a package: JavaScript modules and their types, which import nothing from outside it. */
import { rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import ts from 'typescript';

/** Compiles `src` of the package into `dist`, as its `tsconfig.build.json` says. Ends the process when that fails. */
export function buildPackage(directory: string): ts.Program {
  const { fileNames, options } = readConfig(directory);
  const program = ts.createProgram(fileNames, options);
  // The files of other packages are checked with the whole project, against newer libraries than those of a browser.
  const sources = fileNames.map((name) => program.getSourceFile(name)).filter((file) => file !== undefined);
  const problems = [
    ...program.getGlobalDiagnostics(),
    ...sources.flatMap((file) => ts.getPreEmitDiagnostics(program, file)),
  ];
  if (problems.length > 0) fail(problems, directory);
  rmSync(join(directory, 'dist'), { recursive: true, force: true });
  for (const file of sources) program.emit(file, writerInto(directory));
  return program;
}

function readConfig(directory: string): ts.ParsedCommandLine {
  const path = join(directory, 'tsconfig.build.json');
  const { config, error } = ts.readConfigFile(path, ts.sys.readFile);
  if (error !== undefined) fail([error], directory);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, directory);
  if (parsed.errors.length > 0) fail(parsed.errors, directory);
  return parsed;
}

function fail(diagnostics: readonly ts.Diagnostic[], directory: string): never {
  const host = {
    getCanonicalFileName: (name: string) => name,
    getCurrentDirectory: () => directory,
    getNewLine: () => '\n',
  };
  process.stderr.write(ts.formatDiagnostics(diagnostics, host));
  process.exit(1);
}

/**
 * Writes into `dist`, whatever the root of all sources is. The compiler leaves `.ts` in the imports of declarations; the
 * package has `.js` only.
 */
const writerInto =
  (directory: string): ts.WriteFileCallback =>
  (path, text, _mark, _onError, sources) => {
    const source = relative(join(directory, 'src'), sources?.[0]?.fileName ?? '');
    const isTypes = path.endsWith('.d.ts');
    const target = join(directory, 'dist', source.replace(/\.ts$/, isTypes ? '.d.ts' : '.js'));
    ts.sys.createDirectory(dirname(target));
    ts.sys.writeFile(
      target,
      isTypes ? text.replaceAll(/(from\s+|import\()(['"]\.[^'"]*)\.ts(?=['"])/g, '$1$2.js') : text,
    );
  };
