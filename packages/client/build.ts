/**
 * Builds the published `dist`: JavaScript modules and their types. The types of requests and responses come from the
 * private protocol package. The compiler expands them, so that `dist` imports nothing outside itself.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import ts from 'typescript';

const HERE = import.meta.dirname;
const PROTOCOL_TYPES = join(HERE, 'src/protocol.ts');

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

/** `export type Group = { … };` for every type that the file exports, with the compiler's own expansion. */
function expandedTypes(program: ts.Program, path: string): string {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(path);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${path} is not a module`);
  const { InTypeAlias, MultilineObjectLiterals, NoTruncation } = ts.NodeBuilderFlags;
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const declared = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const type = checker.getDeclaredTypeOfSymbol(declared);
      const flags = InTypeAlias | MultilineObjectLiterals | NoTruncation;
      const node = checker.typeToTypeNode(type, undefined, flags);
      if (node === undefined || type.flags & ts.TypeFlags.Any) throw new Error(`no type ${symbol.name}`);
      const comment = ts.displayPartsToString(declared.getDocumentationComment(checker));
      return `${comment && `/** ${comment} */\n`}export type ${symbol.name} = ${textOf(node, file as ts.SourceFile)};\n`;
    })
    .join('');
}

/** JSON leaves out `undefined`, so an optional property accepts it, also under `exactOptionalPropertyTypes`. */
function textOf(type: ts.TypeNode, file: ts.SourceFile): string {
  const { factory } = ts;
  const undefinedType = factory.createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword);
  const { transformed } = ts.transform(type, [
    (context) => (root) => {
      const visit = (node: ts.Node): ts.Node => {
        const visited = ts.visitEachChild(node, visit, context);
        if (!ts.isPropertySignature(visited) || visited.questionToken === undefined) return visited;
        const { modifiers, name, questionToken } = visited;
        const either = factory.createUnionTypeNode([visited.type as ts.TypeNode, undefinedType]);
        return factory.updatePropertySignature(visited, modifiers, name, questionToken, either);
      };
      return visit(root) as ts.TypeNode;
    },
  ]);
  return ts.createPrinter().printNode(ts.EmitHint.Unspecified, transformed[0] as ts.TypeNode, file);
}

/** The compiler leaves `.ts` in the imports of declarations; the package has `.js` only. */
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
// The protocol's own files are checked with the whole project, against newer libraries than those of a browser.
const sources = fileNames.map((name) => program.getSourceFile(name)).filter((file) => file !== undefined);
const problems = [
  ...program.getGlobalDiagnostics(),
  ...sources.flatMap((file) => ts.getPreEmitDiagnostics(program, file)),
];
if (problems.length > 0) fail(problems);

rmSync(join(HERE, 'dist'), { recursive: true, force: true });
for (const file of sources) program.emit(file, writeFile);
writeFileSync(join(HERE, 'dist/protocol.d.ts'), expandedTypes(program, PROTOCOL_TYPES));
