import { isJsonObject, JsonObjectError } from './json.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** Returns the check of a value's type and bounds, apart from its properties or items. */
export function valueCheck(schema: Schema): (value: unknown) => boolean {
  if (schema.const !== undefined) return (value) => value === schema.const;
  if (schema.enum !== undefined) {
    const allowed = new Set(schema.enum as unknown[]);
    return (value) => allowed.has(value);
  }
  const types = Array.isArray(schema.type) ? (schema.type as string[]) : [schema.type as string];
  const fits = types.map((type) => typeCheck(type, schema));
  const [only] = fits;
  return fits.length === 1 && only !== undefined ? only : (value) => fits.some((fit) => fit(value));
}

function typeCheck(type: string, schema: Schema): (value: unknown) => boolean {
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
    case 'number':
      return Number.isFinite;
    case 'string':
      return stringCheck(schema);
    case 'array': {
      const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
      return (value) => Array.isArray(value) && value.length >= minItems && value.length <= maxItems;
    }
    case 'object':
      return objectCheck(schema);
    default:
      throw new Error(`the schema type ${type} is not supported`);
  }
}

function stringCheck(schema: Schema): (value: unknown) => boolean {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const pattern = schema.pattern === undefined ? null : new RegExp(schema.pattern as string, 'u');
  const isText = schema['x-text'] === true ? isStorableText : null;
  const hasFormat = FORMATS[schema.format as string] ?? null;
  return (value) =>
    typeof value === 'string' &&
    hasLength(value, minLength, maxLength) &&
    (pattern === null || pattern.test(value)) &&
    (isText === null || isText(value)) &&
    (hasFormat === null || hasFormat(value));
}

/** Lengths are in code points of one or two UTF-16 units each, so most texts need not be counted. */
function hasLength(text: string, min: number, max: number): boolean {
  const units = text.length;
  if (units <= max && (units >= min * 2 || (min === 1 && units === 1))) return true;
  if (units < min || units > max * 2) return false;
  const length = codePoints(text);
  return length >= min && length <= max;
}

function objectCheck(schema: Schema): (value: unknown) => boolean {
  if (schema.properties !== undefined) return isJsonObject;
  const maxBytes = schema['x-maxBytes'] as number | undefined;
  if (schema.additionalProperties === true) {
    if (maxBytes === undefined) throw new Error('an object of any properties needs x-maxBytes');
    return (value) => isJsonObject(value) && serialisedBytes(value, maxBytes) <= maxBytes;
  }
  const fitsPairs = pairsCheck(schema);
  if (maxBytes === undefined) return fitsPairs;
  return (value) => {
    if (!fitsPairs(value)) return false;
    const pairs = value as Record<string, string>;
    // The pairs are within their own bounds, so serialising them is cheap; most need not be serialised at all.
    return serialisedBytesAtMost(pairs) <= maxBytes || Buffer.byteLength(JSON.stringify(pairs)) <= maxBytes;
  };
}

/** Stops at the first pair that is invalid or one too many, so that a large object costs no more than a small one. */
function pairsCheck(schema: Schema): (value: unknown) => boolean {
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
  const fitsKey = stringCheck(schema.propertyNames as Schema);
  const fitsValue = valueCheck(schema.additionalProperties as Schema);
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

/** The most bytes of JSON for one UTF-16 unit: a control character is written `\u0000`. */
const UNIT_MAX_BYTES = 6;

/** An upper bound of the bytes of the pairs' JSON text, by their lengths alone. */
function serialisedBytesAtMost(pairs: Record<string, string>): number {
  let bytes = '{}'.length;
  for (const key in pairs) {
    bytes += '"":"",'.length + UNIT_MAX_BYTES * (key.length + (pairs[key] as string).length);
  }
  return bytes;
}

/** Whether a value has more nested values than `limit`; each takes a byte of JSON text at least. */
function hasMoreValues(value: object, limit: number): boolean {
  const open: unknown[] = [value];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inner = Object.values(next);
    count += inner.length;
    if (count > limit) return true;
    for (const child of inner) open.push(child);
  }
  return false;
}

/** The bytes of the value's JSON text; infinite when a part of it cannot be serialised as it was written. */
function serialisedBytes(value: object, limit: number): number {
  // Serialising deeply nested values takes time by the square of the depth, so values far too large are not serialised.
  if (hasMoreValues(value, limit)) return Number.POSITIVE_INFINITY;
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    // A number that a double cannot represent, or nesting deeper than the stack.
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

/** No lone surrogate and no NUL: PostgreSQL cannot store them, and no store may alter them. */
const isStorableText = (text: string) => text.isWellFormed() && !text.includes('\0');

const isHttpUrl = (text: string) => /^https?:\/\/[^\s\p{C}]+$/iu.test(text) && URL.canParse(text);
const isMailUrl = (text: string) => /^mailto:[^\s\p{C}]+$/iu.test(text) && URL.canParse(text);

/** A date and a time with its offset, as RFC 3339 has them. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** The first time of the year 0: an earlier one has no date of four digits. */
const FIRST_TIME = Date.parse('0000-01-01T00:00:00Z');

/** The parser takes 30 February for 2 March, and 24:00 for the next day. */
function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text) || !(Date.parse(text) >= FIRST_TIME)) return false;
  const local = text.slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
  return new Date(`${local}Z`).toISOString().startsWith(local);
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  'http-url': isHttpUrl,
  'link-url': (text) => isHttpUrl(text) || isMailUrl(text),
  'date-time': isDateTime,
};
