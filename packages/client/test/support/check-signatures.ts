/** Compares signatures as documentation writes them with those of the sources: the compiler decides whether they are the same. */
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '../../../..');
/** The program that is compiled; it exists in memory only. */
const FILE = join(import.meta.dirname, 'documented-signatures.ts');
const SOURCES = join(import.meta.dirname, '../../src');
const GLOBALS: ReadonlySet<string> = new Set(['Promise', 'ReturnType', 'Iterable', 'AsyncGenerator']);

/** A method as documentation writes it. */
export interface DocumentedMethod {
  /** The type of the method in the sources. */
  readonly type: string;
  /** Its name, parameters and result: `get(id: string): Promise<Group>`. */
  readonly signature: string;
  /** Whether it is said to take `ifMatch`. */
  readonly isConditional: boolean;
}

const PRELUDE = `
import type { CallOptions, Precondition } from '../../src/index.ts';
import type { signClientToken, signProjectToken } from '../../src/server/index.ts';
type Function = (...parameters: never) => unknown;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
type LastOf<P extends unknown[]> = Required<P> extends [...unknown[], infer Last] ? Last : unknown;
type First<P extends unknown[]> = P extends [...infer F, unknown?] ? F : never;
/** The options of a call, which are the last parameter of each method that sends a request, are documented once for all. */
type IsOfCall<Last> = 'retries' extends keyof Last ? (keyof Last extends keyof (CallOptions & Precondition) ? true : false) : false;
type Given<F extends Function> = IsOfCall<LastOf<Parameters<F>>> extends true ? First<Parameters<F>> : Parameters<F>;
type IsConditional<F extends Function> = 'ifMatch' extends keyof LastOf<Parameters<F>> ? true : false;
/** The names of the fields of a parameter whose type has no name in the documentation. */
type FieldsOf<P> = keyof Exclude<P, undefined>;
`;

/** The methods whose parameters, result or condition differ from the sources, with the compiler's first message. */
export function wrongSignatures(methods: readonly DocumentedMethod[]): string[] {
  const lines = methods.map(assertionOf);
  const names = new Set(lines.join('\n').match(/(?<![\w'.])[A-Z]\w+/g));
  const own = [...PRELUDE.matchAll(/^type (\w+)/gm)].map(([, name = '']) => name);
  const imported = [...names].filter(
    (name) => !GLOBALS.has(name) && !own.includes(name) && name !== 'CallOptions',
  );
  const ofChanges = imported.filter((name) => name.startsWith('Changes'));
  const others = imported.filter((name) => !ofChanges.includes(name));
  const head = `
import type { ${others.join(', ')} } from '../../src/index.ts';
import type { ${ofChanges.join(', ')} } from '../../src/changes/index.ts';${PRELUDE}`;
  const first = head.split('\n').length - 1;
  return errorsOf(head + lines.join('\n')).map(({ line, message }) => {
    const method = methods[line - first];
    return `${method === undefined ? `line ${line}` : method.signature}: ${message}`;
  });
}

/** One line of the program: it compiles when the documented signature is that of the sources. */
function assertionOf({ type, signature, isConditional }: DocumentedMethod): string {
  const file = ts.createSourceFile('x.ts', `interface X { ${signature} }`, ts.ScriptTarget.Latest, true);
  const [declared] = (file.statements[0] as ts.InterfaceDeclaration).members as unknown as [
    ts.MethodSignature,
  ];
  const text = (node: ts.Node) => node.getText(file);
  const parameters = declared.parameters.map((each, index) => {
    const given = `Given<${type}>[${index}]`;
    const fields = ts.isObjectBindingPattern(each.name)
      ? each.name.elements.map((field) =>
          field.dotDotDotToken === undefined ? `'${text(field.name)}'` : `keyof ${text(field.name)}`,
        )
      : [];
    const isOptional = each.questionToken !== undefined;
    return [
      ...(fields.length > 0 ? [`Same<FieldsOf<${given}>, ${fields.join(' | ')}>`] : []),
      ...(each.type ? [`Same<${given}, ${text(each.type)}${isOptional ? ' | undefined' : ''}>`] : []),
    ];
  });
  const shape = declared.parameters.map(({ questionToken }) => (questionToken ? 'unknown?' : 'unknown'));
  const all = [
    `Same<Given<${type}>['length'], [${shape.join(', ')}]['length']>`,
    ...parameters.flat(),
    `Same<ReturnType<${type}>, ${declared.type ? text(declared.type) : 'unknown'}>`,
    `Same<IsConditional<${type}>, ${isConditional}>`,
  ];
  return `({}) as [${all.join(', ')}] satisfies [${all.map(() => 'true').join(', ')}];`;
}

function errorsOf(source: string): { readonly line: number; readonly message: string }[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, target, ...more) =>
    name === FILE ? ts.createSourceFile(name, source, target) : getSourceFile(name, target, ...more);
  host.fileExists = (name) => name === FILE || ts.sys.fileExists(name);
  const program = ts.createProgram([FILE, join(SOURCES, 'index.ts')], options, host);
  const file = program.getSourceFile(FILE);
  return ts.getPreEmitDiagnostics(program, file).map(({ start = 0, messageText }) => ({
    line: file?.getLineAndCharacterOfPosition(start).line ?? 0,
    message: ts.flattenDiagnosticMessageText(messageText, ' '),
  }));
}
