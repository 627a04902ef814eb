/**
 * Parses request bodies without altering them. Bytes that are not UTF-8 and numbers that a double cannot represent are
 * rejected, since they would be stored as something else.
 */

import { hasEscapedKey, readJson } from './json-reader.ts';
import { JSON_MAX_DEPTH } from './limits.ts';

export type JsonObject = { [key: string]: unknown };

/** Thrown by {@link parseJsonObject}. The message is safe to return to the caller. */
export class JsonObjectError extends Error {}

/**
 * Represents a number that a double cannot (`1e400`, 2^53 + 1). No schema accepts it, and serialising it
 * throws, so it is never stored.
 */
class InexactNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
  toJSON(): never {
    throw new JsonObjectError(
      `the number ${this.source.slice(0, 40)} cannot be stored exactly; send it as a string`,
    );
  }
}

/**
 * Matches a number that a double may not represent: a double represents any 15 digits with an exponent below 290. A match makes the
 * whole body take the slower parser, so ordinary numbers must not match.
 */
const SUSPECT_NUMBER = /[:,[]\s*-?(?:[\d.]{16}|[\d.]+[eE][+-]?(?:29\d|[3-9]\d\d|\d{4}))/;

/**
 * Parses a body, or what the message of an error is to call it, as one JSON object.
 * @throws JsonObjectError when the bytes are empty, not UTF-8, not JSON, or JSON of another type.
 */
export function parseJsonObject(bytes: Uint8Array | undefined, what = 'the request body'): JsonObject {
  if (!bytes?.length) throw new JsonObjectError(`${what} is empty; send a JSON object`);
  const error = structureError(bytes);
  if (error !== null) throw new JsonObjectError(`${what} ${error}`);
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = withoutByteOrderMark(buffer.toString());
  // Invalid UTF-8 was decoded to replacement characters. The strict decoder distinguishes them from those that were sent.
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new JsonObjectError(`${what} is not valid UTF-8`);
  let value: unknown;
  try {
    value = parseJsonExactly(text);
  } catch {
    throw new JsonObjectError(`${what} is not valid JSON`);
  }
  if (!isJsonObject(value)) throw new JsonObjectError(`${what} is not a JSON object`);
  return value;
}

/**
 * V8 ends the process where an object gets more than 2^23 fields or an array more than 2^27 items. No legal body has as many: a
 * list of so many different IDs is larger than the largest body.
 */
const ENTRIES_MAX = { fields: 8_000_000, items: 100_000_000 };
/** As `"":1,`. Smaller bodies need not be counted. */
const FIELD_MIN_BYTES = 5;

/** What makes a text unfit to be parsed, as the end of a sentence about it; null where nothing does. */
export function structureError(bytes: Uint8Array, maxDepth = JSON_MAX_DEPTH): string | null {
  if (nestsTooDeeply(bytes, maxDepth)) return 'is nested too deeply';
  return bytes.length > ENTRIES_MAX.fields * FIELD_MIN_BYTES ? entriesError(bytes) : null;
}

/** The same for objects and arrays with too many entries: one more than commas. */
export function entriesError(bytes: Uint8Array, { fields, items } = ENTRIES_MAX): string | null {
  const around: { readonly commas: number; readonly isObject: boolean }[] = [];
  let [commas, isObject] = [0, false];
  let inString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (inString) {
      if (byte === 0x5c) index += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x2c) {
      commas += 1;
      if (isObject && commas >= fields) return `has an object with more than ${fields} fields`;
      if (!isObject && commas >= items) return `has an array with more than ${items} items`;
    } else if (byte === 0x7b || byte === 0x5b) {
      around.push({ commas, isObject });
      commas = 0;
      isObject = byte === 0x7b;
    } else if (byte === 0x7d || byte === 0x5d) ({ commas, isObject } = around.pop() ?? { commas, isObject });
  }
  return null;
}

/**
 * Whether objects and arrays are nested deeper than in any legal body. Depth costs parsers and serialisers far more than
 * length, so it is checked first, in one pass over the bytes.
 */
function nestsTooDeeply(bytes: Uint8Array, maxDepth: number): boolean {
  if (bytes.length <= maxDepth) return false;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (inString) {
      if (byte === 0x5c) index += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}

const strict = new TextDecoder('utf-8', { fatal: true });

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

const withoutByteOrderMark = (text: string) => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

/** `JSON.parse` without its defect with escaped keys (see {@link readJson}). For texts of callers. @throws SyntaxError */
export function parseJson(text: string): unknown {
  return hasEscapedKey(text) ? readJson(text) : JSON.parse(text);
}

/** The same; a number that a double cannot represent becomes an {@link InexactNumber}. @throws SyntaxError */
export function parseJsonExactly(text: string): unknown {
  if (SUSPECT_NUMBER.test(text) || hasEscapedKey(text)) return readJson(text, exactNumber);
  return JSON.parse(text);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof InexactNumber)
  );
}

function exactNumber(source: string): unknown {
  const value = Number(source);
  return isOrdinary(source) || decimal(source) === decimal(String(value)) ? value : new InexactNumber(source);
}

/** A double represents any 15 digits. */
const isOrdinary = (source: string) => source.length <= 15 && !/[eE]/.test(source);

/** The canonical text of a decimal number, digits and exponent: equal for `1.0`, `1` and `1e0`. */
function decimal(source: string): string {
  const match = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
  if (match === null) return source;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  // Not `/0+$/`: that takes quadratic time on zeros that are not at the end.
  let end = digits.length;
  while (digits.charAt(end - 1) === '0') end -= 1;
  const significant = digits.slice(0, end);
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
