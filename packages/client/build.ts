/**
 * Builds what is published: `dist`, JavaScript modules and their types. The types of the wire come from the private
 * protocol package; they are written out as the compiler sees them, so that `dist` refers to nothing outside itself.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import ts from 'typescript';

const HERE = import.meta.dirname;
const WIRE_TYPES = join(HERE, 'src/protocol.ts');

function readConfig(): ts.ParsedCommandLine {
  const path = join(HERE, 'tsconfig.build.json');
  const { config, error } = ts.readConfigFile(path, ts.sys.readFile);
  if (error !== undefined) fail([error]);
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, HERE);
  if (parsed.errors.length > 0) fail(parsed.errors);
  return parsed;
}

function fail(diagnostics: readonly ts.Diagnostic[]): never {
  const host = {
    getCanonicalFileName: (name: string) => name,
    getCurrentDirectory: () => HERE,
    getNewLine: () => '\n',
  };
  process.stderr.write(ts.formatDiagnostics(diagnostics, host));
  process.exit(1);
}

/** `export type Group = { … };` for every type that the file exports. */
function writtenOut(program: ts.Program, path: string): string {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(path);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${path} is not a module`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const declared = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const type = checker.getDeclaredTypeOfSymbol(declared);
      return `${comment(declared, checker)}export type ${symbol.name} = ${textOf(type, checker)};\n`;
    })
    .join('');
}

/** What the source says about a type; what is in braces there are names that a reader of the package does not have. */
function comment(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  return text === '' ? '' : `/** ${text} */\n`;
}

/** A type as TypeScript, with every name in it replaced by what it stands for. */
function textOf(type: ts.Type, checker: ts.TypeChecker, indent = ''): string {
  const inside = (inner: ts.Type) => textOf(inner, checker, indent);
  if (type.flags & ts.TypeFlags.Boolean) return 'boolean';
  if (type.isUnion()) return unionText(type.types.map(inside));
  if (checker.isArrayType(type)) {
    const [item] = checker.getTypeArguments(type as ts.TypeReference);
    if (item === undefined) throw new Error('an array of nothing');
    return `${item.isUnion() ? `(${inside(item)})` : inside(item)}[]`;
  }
  const values = type.getStringIndexType();
  if (values !== undefined) return `Record<string, ${inside(values)}>`;
  const { Object: AnObject, Intersection, Any } = ts.TypeFlags;
  if (type.flags & (AnObject | Intersection)) return objectText(type, checker, indent);
  if (type.flags & Any) throw new Error('a type that the compiler does not know');
  return checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation);
}

/** The compiler sees `boolean | undefined` as three types; what is optional is marked at its name. */
function unionText(parts: readonly string[]): string {
  const shown = parts.filter((part) => part !== 'undefined' && part !== 'false');
  return shown.map((part) => (part === 'true' && parts.includes('false') ? 'boolean' : part)).join(' | ');
}

function objectText(type: ts.Type, checker: ts.TypeChecker, indent: string): string {
  const lines = checker.getPropertiesOfType(type).map((property) => {
    const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
    const text = textOf(checker.getTypeOfSymbol(property), checker, `${indent}  `);
    // What is optional may also be passed as `undefined`, whatever the reader's settings: JSON leaves it out.
    return `${indent}  ${property.name}${isOptional ? `?: ${text} | undefined` : `: ${text}`};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

/** Declarations keep the imports as they are in the sources; a reader of the package has no `.ts`. */
const writeFile: ts.WriteFileCallback = (path, text) => {
  const isTypes = path.endsWith('.d.ts');
  ts.sys.createDirectory(dirname(path));
  ts.sys.writeFile(
    path,
    isTypes ? text.replaceAll(/(from\s+|import\()(['"]\.[^'"]*)\.ts(?=['"])/g, '$1$2.js') : text,
  );
};

const { fileNames, options } = readConfig();
const program = ts.createProgram(fileNames, options);
// The protocol's own files are checked with the rest of the project, against newer libraries than a browser has.
const sources = fileNames.map((name) => program.getSourceFile(name)).filter((file) => file !== undefined);
const problems = [
  ...program.getGlobalDiagnostics(),
  ...sources.flatMap((file) => ts.getPreEmitDiagnostics(program, file)),
];
if (problems.length > 0) fail(problems);

rmSync(join(HERE, 'dist'), { recursive: true, force: true });
for (const file of sources) program.emit(file, writeFile);
writeFileSync(join(HERE, 'dist/protocol.d.ts'), writtenOut(program, WIRE_TYPES));
