/** Compiles a file once with each of the settings in the arguments, as `tsc` does, and prints what is wrong with each as JSON. */
import process from 'node:process';
import ts from 'typescript';

const [file = '', ...settings] = process.argv.slice(2);
const host = ts.createCompilerHost({});

/** Ours, and those of libraries that ours import: not those of the platform, which take most of the time. */
const isChecked = (path: string) =>
  path.includes('/node_modules/') && !/\/node_modules\/(@types|typescript|csstype|undici-types)\//.test(path);

function problemsOf(text: string): string {
  const { options, errors } = ts.convertCompilerOptionsFromJson(JSON.parse(text), host.getCurrentDirectory());
  const program = ts.createProgram([file], options);
  const declarations = program.getSourceFiles().filter(({ fileName }) => isChecked(fileName));
  if (!declarations.some(({ fileName }) => fileName.includes('/node_modules/@rollcall/')))
    throw new Error(`${file} imports none of our packages`);
  const source = program.getSourceFile(file);
  // A whole program is checked as it is emitted.
  const problems = [source, ...declarations].flatMap((each) => ts.getPreEmitDiagnostics(program, each));
  if (options.noEmit !== true) program.emit(source);
  return ts.formatDiagnostics([...errors, ...ts.sortAndDeduplicateDiagnostics(problems)], host);
}

process.stdout.write(JSON.stringify(settings.map(problemsOf)));
