/**
 * Compares the answers that a page shows with real ones. In the page, `…` within a text matches values that differ from
 * run to run: IDs, secrets, tokens, times, revisions.
 */
import assert from 'node:assert/strict';

/** Fails unless `output` has the JSON values that the page shows, in their order. */
export function expectJson(output: string, shown: string): void {
  const expected = jsonValues(shown);
  const actual = jsonValues(output);
  assert.deepEqual(
    actual.map((value, index) => likeShown(value, expected[index])),
    expected,
  );
}

/** Fails unless `output` is one answer with its head (`curl -i`) that has the status line, headers and body shown. */
export function expectHttp(output: string, shown: string): void {
  const expected = parseHttp(shown);
  const actual = parseHttp(output);
  assert.equal(actual.statusLine, expected.statusLine);
  const headers = [...expected.headers].map(([name, value]): [string, unknown] => [
    name,
    likeShown(actual.headers.get(name), value),
  ]);
  assert.deepEqual(new Map(headers), expected.headers);
  if (expected.body !== '') expectJson(actual.body, expected.body);
}

/** The JSON values of a text, which may follow each other without anything in between. */
export function jsonValues(text: string): unknown[] {
  const values: unknown[] = [];
  for (let rest = text.trim(); rest !== ''; ) {
    const end = endOfValue(rest);
    values.push(JSON.parse(rest.slice(0, end)));
    rest = rest.slice(end).trim();
  }
  return values;
}

/** The end of the object or array at the start of the text. */
function endOfValue(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth === 0) return index + token.length;
  }
  throw new Error(`no JSON object or array: ${text.slice(0, 200)}`);
}

/** The value as in the page, where it differs only in parts that `…` matches; else the value itself. */
function likeShown(value: unknown, shown: unknown): unknown {
  if (typeof value === 'string' && typeof shown === 'string') {
    return patternOf(shown).test(value) ? shown : value;
  }
  if (Array.isArray(value) && Array.isArray(shown)) {
    return value.map((item, index) => likeShown(item, shown[index]));
  }
  if (isObject(value) && isObject(shown)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, likeShown(item, shown[key])]));
  }
  return value;
}

const patternOf = (shown: string) => new RegExp(`^${shown.split('…').map(RegExp.escape).join('.+')}$`, 'su');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface HttpText {
  readonly statusLine: string;
  readonly headers: Map<string, string>;
  readonly body: string;
}

function parseHttp(text: string): HttpText {
  const [head = '', ...body] = text.replaceAll('\r\n', '\n').split('\n\n');
  const [statusLine = '', ...lines] = head.trimEnd().split('\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { statusLine: statusLine.trim(), headers: new Map(headers), body: body.join('\n\n').trim() };
}
