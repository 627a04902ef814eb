/**
 * Reading a request body: bytes to a JSON object, with nothing altered on the way. What would be altered (bytes that
 * are not UTF-8, a number that a double cannot hold) is refused instead of being stored as something else.
 */

import { hasEscapedKey, readJson } from './json-reader.ts';
import { JSON_MAX_DEPTH } from './limits.ts';

export type JsonObject = { [key: string]: unknown };

/** Thrown by {@link parseJsonObject}; the message is safe to show to the caller. */
export class JsonObjectError extends Error {}

/**
 * Stands in the parsed body where a number was written that JSON readers cannot keep (`1e400`, 2^53 + 1).
 * It is of no type that a schema allows, and serialising it throws, so it can never be stored.
 */
export class UnkeepableNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
  toJSON(): never {
    throw new JsonObjectError(
      `the number ${this.source.slice(0, 40)} cannot be kept exactly; send it as a string`,
    );
  }
}

/**
 * A number that a double might not hold: it holds any of 15 digits with an exponent below 290. Whatever matches costs
 * the whole body a slower reading, so this is to let ordinary numbers through.
 */
const SUSPECT_NUMBER = /[:,[]\s*-?(?:[\d.]{16}|[\d.]+[eE][+-]?(?:29\d|[3-9]\d\d|\d{4}))/;

/**
 * Reads a body as one JSON object.
 * @throws JsonObjectError when the bytes are empty, not UTF-8, not JSON, or JSON of another type.
 */
export function parseJsonObject(bytes: Uint8Array | null | undefined): JsonObject {
  if (bytes == null || bytes.length === 0)
    throw new JsonObjectError('the request body is empty; send a JSON object');
  if (nestsTooDeeply(bytes)) throw new JsonObjectError('the request body is nested too deeply');
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = withoutByteOrderMark(buffer.toString());
  // What is not UTF-8 has become replacement characters; whether one of them was sent, the strict decoder knows.
  if (text.includes('\ufffd') && !isUtf8(bytes))
    throw new JsonObjectError('the request body is not valid UTF-8');
  let value: unknown;
  try {
    value = parseJsonExactly(text);
  } catch {
    throw new JsonObjectError('the request body is not valid JSON');
  }
  if (!isJsonObject(value)) throw new JsonObjectError('the request body is not a JSON object');
  return value;
}

/**
 * Whether objects and arrays are nested deeper than any legal body. Parsers and serialisers take far longer for depth
 * than for length, so it is looked at first: one pass over bytes, and only where there are enough of them.
 */
function nestsTooDeeply(bytes: Uint8Array): boolean {
  if (bytes.length <= JSON_MAX_DEPTH) return false;
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
      if (depth > JSON_MAX_DEPTH) return true;
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

/** `JSON.parse` that reads every key as it is written. For texts that have keys of other people. @throws SyntaxError */
export function parseJson(text: string): unknown {
  return hasEscapedKey(text) ? readJson(text) : JSON.parse(text);
}

/** The same, and keeps numbers or marks them {@link UnkeepableNumber}. @throws SyntaxError */
export function parseJsonExactly(text: string): unknown {
  if (SUSPECT_NUMBER.test(text) || hasEscapedKey(text)) return readJson(text, keepNumber);
  return JSON.parse(text);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof UnkeepableNumber)
  );
}

function keepNumber(source: string): unknown {
  const value = Number(source);
  return isOrdinary(source) || decimal(source) === decimal(String(value))
    ? value
    : new UnkeepableNumber(source);
}

/** A double holds 15 digits, whatever they are. */
const isOrdinary = (source: string) => source.length <= 15 && !/[eE]/.test(source);

/** A canonical text of a decimal number: significant digits and exponent, so that `1.0`, `1` and `1e0` are alike. */
function decimal(source: string): string {
  const match = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
  if (match === null) return source;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  // Not `/0+$/`: on zeros that something follows it takes the square of their number.
  let end = digits.length;
  while (digits.charAt(end - 1) === '0') end -= 1;
  const significant = digits.slice(0, end);
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
