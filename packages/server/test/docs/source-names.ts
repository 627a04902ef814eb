/** Reads the names, comments and log lines of the sources and the titles of tests, as the tests of the language compare them. */
import { globSync } from 'node:fs';
import ts from 'typescript';
import { ROOT, readPage } from './markdown.ts';

/** A text of a source file. `at` is its file and line. */
export interface SourceText {
  readonly at: string;
  readonly text: string;
}

export interface SourceTexts {
  /** Names that the file declares, each time that it declares them. */
  readonly names: readonly SourceText[];
  /** Titles of tests; `…` stands for each inserted value. */
  readonly titles: readonly SourceText[];
  /** Messages of log lines that are written where they are logged. */
  readonly logLines: readonly SourceText[];
  /** Comments without their code spans. Migrations never change, so theirs are left out. */
  readonly comments: readonly SourceText[];
}

type Collected = Record<keyof SourceTexts, SourceText[]>;

const FILES = '{packages,bench,cluster,generators,examples}/**/*.{ts,tsx,mjs}';
const SCRIPTS = 'packages/**/*.lua';
const COMMENT = /\/\*.*?\*\/|(?<=^|\s)(?:\/\/|--)\s[^\n]*/gms;
const LEVELS = new Set(['debug', 'info', 'warn', 'error', 'fatal']);

export function readSourceTexts(): SourceTexts {
  const texts: Collected = { names: [], titles: [], logLines: [], comments: [] };
  for (const path of filesOf(FILES)) {
    const source = readPage(path);
    collect(path, source, texts);
    texts.comments.push(...commentsOf(path, source));
  }
  for (const path of filesOf(SCRIPTS)) texts.comments.push(...commentsOf(path, readPage(path)));
  return texts;
}

const filesOf = (pattern: string): string[] =>
  globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules/**', '**/dist/**'] }).sort();

const commentsOf = (path: string, source: string): SourceText[] =>
  [...source.matchAll(COMMENT)].map(({ 0: text, index }) => ({
    at: `${path}:${source.slice(0, index).split('\n').length}`,
    text: text.replace(/`[^`]*`/g, '').replace(/\s*\n\s*\*?\s*/g, ' '),
  }));

function collect(path: string, source: string, texts: Collected): void {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const add = (kind: keyof SourceTexts, node: ts.Node, text: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    texts[kind].push({ at: `${path}:${line + 1}`, text });
  };
  const visit = (node: ts.Node): void => {
    const name = declaredName(node);
    if (name !== null) add('names', name, name.text);
    if (ts.isCallExpression(node)) {
      const [first, ...rest] = node.arguments;
      if (first !== undefined && isTest(node)) add('titles', node, textOf(first) ?? '…');
      for (const argument of first !== undefined && isLog(node) ? [first, ...rest] : []) {
        const text = textOf(argument);
        if (text !== null) add('logLines', node, text);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}

function declaredName(node: ts.Node): ts.Identifier | ts.PrivateIdentifier | null {
  const { name } = node as { name?: ts.Node };
  if (name === undefined || ts.isPropertyAccessExpression(node)) return null;
  return ts.isIdentifier(name) || ts.isPrivateIdentifier(name) ? name : null;
}

const isTest = ({ expression, arguments: { length } }: ts.CallExpression): boolean =>
  ts.isIdentifier(expression) && expression.text === 'test' && length > 1;

const isLog = ({ expression }: ts.CallExpression): boolean =>
  ts.isPropertyAccessExpression(expression) &&
  LEVELS.has(expression.name.text) &&
  /\b#?log$/.test(expression.expression.getText());

/** The text of a literal; null of anything else. */
function textOf(node: ts.Expression): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}
