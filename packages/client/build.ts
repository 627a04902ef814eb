/**
 * Builds the published `dist`. The types of requests and responses come from the
 * private protocol package. The compiler expands them, so that `dist` imports nothing outside itself.
 */
import { join } from 'node:path';
import ts from 'typescript';
import { buildPackage } from '../build-package.ts';

const HERE = import.meta.dirname;
const PROTOCOL_TYPES = join(HERE, 'src/protocol.ts');
/** Types of what a caller sends. The client changes none of it, so its lists can be `readonly`. */
const OF_REQUESTS = /^Batch$|^MembersChange$|(?:Write|Creation|Item)$/;

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
      return `${comment && `/** ${comment} */\n`}export type ${symbol.name} = ${textOf(node, file as ts.SourceFile, OF_REQUESTS.test(symbol.name))};\n`;
    })
    .join('');
}

/** JSON leaves out `undefined`, so an optional property accepts it, also under `exactOptionalPropertyTypes`. */
function textOf(type: ts.TypeNode, file: ts.SourceFile, isOfRequest: boolean): string {
  const { factory } = ts;
  const undefinedType = factory.createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword);
  const { transformed } = ts.transform(type, [
    (context) => (root) => {
      const visit = (node: ts.Node): ts.Node => {
        const visited = ts.visitEachChild(node, visit, context);
        if (isOfRequest && ts.isArrayTypeNode(visited))
          return factory.createTypeOperatorNode(ts.SyntaxKind.ReadonlyKeyword, visited);
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

buildPackage(HERE, (program) => new Map([[PROTOCOL_TYPES, expandedTypes(program, PROTOCOL_TYPES)]]));
