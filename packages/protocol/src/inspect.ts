/**
 * Checks a parsed JSON value against a schema and sorts what is wrong into the contract's three steps (unexpected,
 * missing, invalid), each with its places. A general validator stops at the first failure or reports all of them in
 * no such order and without a bound; here the first twenty of each step are named and the rest counted, so that a
 * hostile body costs no more than its own size. The schemas are plain JSON Schema; the keywords understood are those
 * that the protocol uses, and any other makes {@link inspector} throw when it is built, never pass silently.
 */
import { isJsonObject, JsonObjectError } from './json.ts';
import { PROBLEMS_NAMED } from './limits.ts';

/** One thing wrong with a value: where (`users[3].nick`), and what is expected there. */
export interface Problem {
  readonly place: string;
  readonly expected: string;
}

/** The problems of one step: how many, and the first of them. */
export class Problems {
  count = 0;
  readonly named: Problem[] = [];

  add(place: string, expected: string): void {
    this.count += 1;
    if (this.named.length < PROBLEMS_NAMED) this.named.push({ place, expected });
  }
}

/** All that is wrong with one value, by step; the steps answer in this order. */
export class Findings {
  readonly unexpected = new Problems();
  readonly missing = new Problems();
  readonly invalid = new Problems();

  get clean(): boolean {
    return this.unexpected.count + this.missing.count + this.invalid.count === 0;
  }
}

/** Adds to `findings` what is wrong with `value`. */
export type Inspector = (value: unknown, findings: Findings) => void;

/** Where a check is in the value: the keys that led there. A stack, so that a place costs nothing until it is named. */
type Trail = (string | number)[];
type Check = (value: unknown, trail: Trail, findings: Findings) => void;
type Schema = Readonly<Record<string, unknown>>;

/** Builds the inspector of a schema, once. @throws Error when the schema has a keyword that is not understood. */
export function inspector(schema: object): Inspector {
  const check = build(schema as Schema);
  return (value, findings) => check(value, [], findings);
}

/** `members[3]`, `users[3].nick`. */
function placeOf(trail: Trail): string {
  return trail.reduce<string>((place, step) => {
    if (typeof step === 'number') return `${place}[${step}]`;
    return place === '' ? step : `${place}.${step}`;
  }, '');
}

function build(schema: Schema): Check {
  refuseUnknownKeywords(schema);
  const expected = String(schema.description ?? 'another value');
  const fits = fitting(schema);
  const inside = isObjectSchema(schema)
    ? objectCheck(schema)
    : isArraySchema(schema)
      ? arrayCheck(schema)
      : null;
  return (value, trail, findings) => {
    if (!fits(value)) findings.invalid.add(placeOf(trail) || 'the body', expected);
    else if (inside !== null) inside(value, trail, findings);
  };
}

const isObjectSchema = (schema: Schema) => schema.properties !== undefined;
const isArraySchema = (schema: Schema) => schema.items !== undefined;

function objectCheck(schema: Schema): Check {
  const properties = new Map(
    Object.entries(schema.properties as Record<string, Schema>).map(([name, inner]) => [name, build(inner)]),
  );
  const required = (schema.required ?? []) as readonly string[];
  const descriptions = new Map(
    Object.entries(schema.properties as Record<string, Schema>).map(([name, inner]) => [
      name,
      String(inner.description ?? 'a value'),
    ]),
  );
  const fields = properties.size === 0 ? 'none' : [...properties.keys()].join(', ');
  return (value, trail, findings) => {
    const object = value as Record<string, unknown>;
    for (const name in object) {
      const check = properties.get(name);
      trail.push(name);
      if (check === undefined) findings.unexpected.add(placeOf(trail), fields);
      else check(object[name], trail, findings);
      trail.pop();
    }
    for (const name of required) {
      if (Object.hasOwn(object, name)) continue;
      trail.push(name);
      findings.missing.add(placeOf(trail), descriptions.get(name) as string);
      trail.pop();
    }
  };
}

function arrayCheck(schema: Schema): Check {
  const item = build(schema.items as Schema);
  return (value, trail, findings) => {
    const array = value as unknown[];
    const depth = trail.push(0) - 1;
    for (let index = 0; index < array.length; index += 1) {
      trail[depth] = index;
      item(array[index], trail, findings);
    }
    trail.pop();
  };
}

/** Whether a value itself, apart from what is inside it, is of the schema's type and within its bounds. */
function fitting(schema: Schema): (value: unknown) => boolean {
  if (schema.const !== undefined) return (value) => value === schema.const;
  if (schema.enum !== undefined) {
    const allowed = new Set(schema.enum as unknown[]);
    return (value) => allowed.has(value);
  }
  const types = Array.isArray(schema.type) ? (schema.type as string[]) : [schema.type as string];
  const fits = types.map((type) => fittingType(type, schema));
  const [only] = fits;
  return fits.length === 1 && only !== undefined ? only : (value) => fits.some((fit) => fit(value));
}

function fittingType(type: string, schema: Schema): (value: unknown) => boolean {
  switch (type) {
    case 'null':
      return (value) => value === null;
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'integer': {
      const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema as Record<
        string,
        number
      >;
      return (value) =>
        Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
    }
    case 'string':
      return fittingString(schema);
    case 'array': {
      const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
      return (value) => Array.isArray(value) && value.length >= minItems && value.length <= maxItems;
    }
    case 'object':
      return fittingObject(schema);
    default:
      throw new Error(`the schema type ${type} is not understood`);
  }
}

function fittingString(schema: Schema): (value: unknown) => boolean {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const pattern = schema.pattern === undefined ? null : new RegExp(schema.pattern as string, 'u');
  const isText = schema['x-text'] === true ? isStorableText : () => true;
  const isUrl = schema.format === 'http-url' ? isHttpUrl : () => true;
  return (value) => {
    if (typeof value !== 'string' || value.length > maxLength * 2) return false;
    const length = codePoints(value);
    return (
      length >= minLength &&
      length <= maxLength &&
      (pattern === null || pattern.test(value)) &&
      isText(value) &&
      isUrl(value)
    );
  };
}

function fittingObject(schema: Schema): (value: unknown) => boolean {
  if (schema.properties !== undefined) return isJsonObject;
  const maxBytes = schema['x-maxBytes'] as number | undefined;
  if (maxBytes !== undefined)
    return (value) => isJsonObject(value) && serialisedBytes(value, maxBytes) <= maxBytes;
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const fitsKey = fittingString(schema.propertyNames as Schema);
  const fitsValue = fitting(schema.additionalProperties as Schema);
  return (value) => {
    if (!isJsonObject(value)) return false;
    const entries = Object.entries(value);
    return (
      entries.length >= minProperties &&
      entries.length <= maxProperties &&
      entries.every(([key, inner]) => fitsKey(key) && fitsValue(inner))
    );
  };
}

/** Whether a value has more parts than its text may have bytes; each part takes one at least. */
function hasMoreParts(value: object, limit: number): boolean {
  const open: unknown[] = [value];
  let parts = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inner = Object.values(next);
    parts += inner.length;
    if (parts > limit) return true;
    for (const part of inner) open.push(part);
  }
  return false;
}

/** Bytes of the value's JSON text; more than any limit when it holds what cannot be serialised as it was written. */
function serialisedBytes(value: object, limit: number): number {
  // Serialising what is nested deeply takes the square of its depth, so what is far too large is not even begun.
  if (hasMoreParts(value, limit)) return Number.POSITIVE_INFINITY;
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    // A number that cannot be kept, or nesting deeper than any JSON reader follows.
    if (error instanceof JsonObjectError || error instanceof RangeError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

function codePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) count -= 1;
  }
  return count;
}

/** No lone surrogate and no NUL: not every store can hold those, and none may store them as something else. */
const isStorableText = (text: string) => text.isWellFormed() && !text.includes('\0');

const isHttpUrl = (text: string) => /^https?:\/\/[^\s\p{C}]+$/iu.test(text) && URL.canParse(text);

const UNDERSTOOD = new Set(
  `type properties required additionalProperties items minItems maxItems minLength maxLength pattern format const enum
   minimum maximum minProperties maxProperties propertyNames description default x-text x-maxBytes`.split(
    /\s+/,
  ),
);

function refuseUnknownKeywords(schema: Schema): void {
  for (const keyword of Object.keys(schema)) {
    if (!UNDERSTOOD.has(keyword)) throw new Error(`the schema keyword ${keyword} is not understood`);
  }
  if (schema.type === undefined && schema.const === undefined && schema.enum === undefined) {
    throw new Error('a schema needs a type, a const or an enum');
  }
}
