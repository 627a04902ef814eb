/** Validates objects by the schemas that Kubernetes and the Prometheus operator publish, as `kubernetes-models` has them. */
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../docs/markdown.ts';
import type { KubernetesObject } from './kubernetes-tools.ts';

/** Where the types and the validators of a version of the API are. */
function moduleOf({ apiVersion }: KubernetesObject): string {
  const packageName = apiVersion.startsWith('monitoring.coreos.com/')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models';
  return `${packageName}/${apiVersion}`;
}

interface Model {
  validate(): void;
}

/** What the schemas reject: values of a wrong type or outside their bounds, missing fields, and fields that do not exist. */
export async function schemaErrors(objects: readonly KubernetesObject[]): Promise<string[]> {
  const invalid = await Promise.all(objects.map(invalidValue));
  return [...invalid.filter((error) => error !== null), ...unknownFields(objects)];
}

async function invalidValue(object: KubernetesObject): Promise<string | null> {
  const models = (await import(moduleOf(object))) as Record<string, new (data: unknown) => Model>;
  const Kind = models[object.kind];
  if (Kind === undefined) return `${object.kind} is no kind of ${object.apiVersion}`;
  try {
    new Kind(object).validate();
    return null;
  } catch (error) {
    return `${object.kind} ${object.metadata.name}: ${(error as Error).message}`;
  }
}

/** Declarations that a check before has read: those of Kubernetes are many. */
const declarations = new Map<string, ts.SourceFile | undefined>();

/** The JSON schemas allow further fields; TypeScript rejects those that the types do not have. */
function unknownFields(objects: readonly KubernetesObject[]): string[] {
  const lines = objects.map(
    (object, index) =>
      `export const o${index}: import('${moduleOf(object)}').I${object.kind} = ${JSON.stringify(object)};`,
  );
  const file = join(ROOT, 'packages/server/test/deploy/objects.generated.ts');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, ...rest) => {
    if (name === file) return ts.createSourceFile(name, lines.join('\n'), ts.ScriptTarget.ES2023);
    if (!declarations.has(name)) declarations.set(name, read(name, ...rest));
    return declarations.get(name);
  };
  const program = ts.createProgram([file], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}
