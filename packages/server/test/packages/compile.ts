/** Compiles a file once with each of the settings in the arguments, as `tsc` does, and prints what is wrong with each as JSON. */
import process from 'node:process';
import ts from 'typescript';

const [file = '', ...settings] = process.argv.slice(2);
const host = ts.createCompilerHost({});

function problemsOf(text: string): string {
  const { options, errors } = ts.convertCompilerOptionsFromJson(JSON.parse(text), host.getCurrentDirectory());
  const program = ts.createProgram([file], options);
  const isOwn = ({ fileName }: ts.SourceFile) => fileName.includes('/node_modules/@rollcall/');
  const declarations = program.getSourceFiles().filter(isOwn);
  if (declarations.length === 0) throw new Error(`${file} imports none of our packages`);
  const source = program.getSourceFile(file);
  // To check the declarations of others takes most of the time, and they are not ours. A whole program is checked as it is emitted.
  const problems = [source, ...declarations].flatMap((each) => ts.getPreEmitDiagnostics(program, each));
  if (options.noEmit !== true) program.emit(source);
  return ts.formatDiagnostics([...errors, ...ts.sortAndDeduplicateDiagnostics(problems)], host);
}

process.stdout.write(JSON.stringify(settings.map(problemsOf)));
