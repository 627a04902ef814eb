import { isJsonObject, type JsonObject, JsonObjectError, parseJsonExactly } from '@rollcall/protocol';
import { LINE_MAX_BYTES, type Line } from './line-reader.ts';

export type Kind = 'user' | 'group';

/** Where a line stands. */
export interface Origin {
  readonly file: string;
  readonly line: number;
}

/** A line as an item of a batch. Only its type has been looked at: whether the rest is right is for the server to say. */
export interface Entry {
  readonly origin: Origin;
  readonly kind: Kind;
  /** Null where it is not a string; the server refuses such an item. */
  readonly id: string | null;
  readonly item: JsonObject;
  /** The item as it is sent. */
  readonly json: string;
  /** Size of `json` in UTF-8. */
  readonly bytes: number;
  /** The users that a group names. */
  readonly members: readonly string[];
}

/** A line that cannot be sent; the message says why. */
export class LineError extends Error {}

const TOO_DEEP = 'the line is nested too deeply';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a line; null where it is blank. @throws LineError */
export function readEntry(line: Line, file: string): Entry | null {
  if (line.bytes === null) throw new LineError(`the line is longer than ${LINE_MAX_BYTES} bytes`);
  const text = decoded(line.bytes);
  if (text.trim() === '') return null;
  const { type, ...item } = parsed(text);
  return entryOf(kindOf(type), item, { file, line: line.number });
}

/** @throws LineError where the item cannot be written as JSON again with nothing altered */
export function entryOf(kind: Kind, item: JsonObject, origin: Origin): Entry {
  const json = written(item);
  return {
    origin,
    kind,
    id: typeof item.id === 'string' ? item.id : null,
    item,
    json,
    bytes: Buffer.byteLength(json),
    members: kind === 'group' ? memberIds(item.members) : [],
  };
}

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new LineError('the line is not valid UTF-8');
  }
}

function parsed(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseJsonExactly(text);
  } catch {
    throw new LineError('the line is not valid JSON');
  }
  if (!isJsonObject(value)) throw new LineError('the line is not a JSON object');
  return value;
}

function kindOf(type: unknown): Kind {
  if (type === 'user' || type === 'group') return type;
  const expected = 'expected "user" or "group"';
  throw new LineError(type === undefined ? `type is missing: ${expected}` : `unknown type: ${expected}`);
}

function written(item: JsonObject): string {
  try {
    return JSON.stringify(item);
  } catch (error) {
    if (error instanceof JsonObjectError) throw new LineError(error.message);
    if (error instanceof RangeError) throw new LineError(TOO_DEEP);
    throw error;
  }
}

function memberIds(members: unknown): string[] {
  return Array.isArray(members) ? members.filter((id) => typeof id === 'string') : [];
}
