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
/** Checks what is inside a value that fits. */
type Inside = (value: unknown, trail: Trail, findings: Findings) => void;
type Schema = Readonly<Record<string, unknown>>;

/** What one schema asks of one value. */
interface Check {
  /** Whether the value itself, apart from what is inside it, is what the schema wants. */
  readonly fits: (value: unknown) => boolean;
  readonly expected: string;
  readonly inside: Inside | null;
}

/** Builds the inspector of a schema, once. @throws Error when the schema has a keyword that is not understood. */
export function inspector(schema: object): Inspector {
  const { fits, expected, inside } = build(schema as Schema);
  return (value, findings) => {
    if (!fits(value)) findings.invalid.add('the body', expected);
    else if (inside !== null) inside(value, [], findings);
  };
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
  return {
    fits: fitting(schema),
    expected: String(schema.description ?? 'another value'),
    inside: isObjectSchema(schema)
      ? insideObject(schema)
      : isArraySchema(schema)
        ? insideArray(schema)
        : null,
  };
}

const isObjectSchema = (schema: Schema) => schema.properties !== undefined;
const isArraySchema = (schema: Schema) => schema.items !== undefined;

function insideObject(schema: Schema): Inside {
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
      if (check === undefined) findings.unexpected.add(placeOf([...trail, name]), fields);
      else checkInside(check, object[name], name, trail, findings);
    }
    for (const name of required) {
      if (!Object.hasOwn(object, name))
        findings.missing.add(placeOf([...trail, name]), descriptions.get(name) as string);
    }
  };
}

function insideArray(schema: Schema): Inside {
  const item = build(schema.items as Schema);
  return (value, trail, findings) => {
    const array = value as unknown[];
    for (let index = 0; index < array.length; index += 1)
      checkInside(item, array[index], index, trail, findings);
  };
}

/** Checks what `step` leads to. */
function checkInside(
  { fits, expected, inside }: Check,
  value: unknown,
  step: string | number,
  trail: Trail,
  findings: Findings,
): void {
  if (!fits(value)) {
    findings.invalid.add(placeOf([...trail, step]), expected);
  } else if (inside !== null) {
    trail.push(step);
    inside(value, trail, findings);
    trail.pop();
  }
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
  const isText = schema['x-text'] === true ? isStorableText : null;
  const isUrl = schema.format === 'http-url' ? isHttpUrl : null;
  return (value) =>
    typeof value === 'string' &&
    hasLength(value, minLength, maxLength) &&
    (pattern === null || pattern.test(value)) &&
    (isText === null || isText(value)) &&
    (isUrl === null || isUrl(value));
}

/** Lengths are in code points, each of which takes one or two places: most texts need not be counted. */
function hasLength(text: string, min: number, max: number): boolean {
  const places = text.length;
  if (places <= max && (places >= min * 2 || (min === 1 && places === 1))) return true;
  if (places < min || places > max * 2) return false;
  const length = codePoints(text);
  return length >= min && length <= max;
}

function fittingObject(schema: Schema): (value: unknown) => boolean {
  if (schema.properties !== undefined) return isJsonObject;
  const maxBytes = schema['x-maxBytes'] as number | undefined;
  if (schema.additionalProperties === undefined) {
    if (maxBytes === undefined) throw new Error('an object of any properties needs x-maxBytes');
    return (value) => isJsonObject(value) && serialisedBytes(value, maxBytes) <= maxBytes;
  }
  const fitsPairs = fittingPairs(schema);
  if (maxBytes === undefined) return fitsPairs;
  return (value) => {
    if (!fitsPairs(value)) return false;
    const pairs = value as Record<string, string>;
    // The pairs fit, so serialising them costs at most what their own bounds allow; most need not be serialised at all.
    return serialisedBytesAtMost(pairs) <= maxBytes || Buffer.byteLength(JSON.stringify(pairs)) <= maxBytes;
  };
}

/** Ends at the first pair that does not fit, or is one too many: a large object costs no more than a small one. */
function fittingPairs(schema: Schema): (value: unknown) => boolean {
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const fitsKey = fittingString(schema.propertyNames as Schema);
  const fitsValue = fitting(schema.additionalProperties as Schema);
  return (value) => {
    if (!isJsonObject(value)) return false;
    let properties = 0;
    for (const key in value) {
      properties += 1;
      if (properties > maxProperties || !fitsKey(key) || !fitsValue(value[key])) return false;
    }
    return properties >= minProperties;
  };
}

/** Most bytes of JSON that a UTF-16 code unit becomes: a control character is written `\u0000`. */
const UNIT_MAX_BYTES = 6;

/** An upper bound of the bytes of the pairs' JSON text, from their lengths alone. */
function serialisedBytesAtMost(pairs: Record<string, string>): number {
  let bytes = '{}'.length;
  for (const key in pairs) {
    bytes += '"":"",'.length + UNIT_MAX_BYTES * (key.length + (pairs[key] as string).length);
  }
  return bytes;
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
