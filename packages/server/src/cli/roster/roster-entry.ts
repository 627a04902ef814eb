import { type JsonObject, JsonObjectError } from '@rollcall/protocol';
import type { Line } from '../records/line-reader.ts';
import { RecordFileError } from '../records/record-file.ts';
import { LineError, type LineOrigin, readRecordLine } from '../records/record-line.ts';
import { STORE_HEADER } from '../transfer/store-file.ts';
import { type ConversationEntry, conversationEntry } from './conversation-line.ts';

/** The kinds of entries that a batch takes. */
export type Kind = 'user' | 'group';

/** A line as an item of a batch. Only its type was checked: the server validates the rest. */
export interface Entry {
  readonly origin: LineOrigin;
  readonly kind: Kind;
  /** Null where it is not a string; the server rejects such an item. */
  readonly id: string | null;
  readonly item: JsonObject;
  /** The item as it is sent. */
  readonly json: string;
  /** Size of `json` in UTF-8. */
  readonly bytes: number;
  readonly members: readonly string[];
}

/** Reads a line; null where it is blank. @throws LineError */
export function readEntry(line: Line, file: string): Entry | ConversationEntry | null {
  const record = readRecordLine(line);
  if (record === null) return null;
  const { type, ...item } = record;
  if (type === STORE_HEADER)
    throw new RecordFileError(`${file} is a backup of a whole store: read it with "rollcall restore"`);
  const origin = { file, line: line.number };
  if (type === 'thread' || type === 'message') return conversationEntry(type, item, origin);
  return entryOf(kindOf(type), item, origin);
}

/** @throws LineError where the item cannot be written as JSON again with nothing altered */
export function entryOf(kind: Kind, item: JsonObject, origin: LineOrigin): Entry {
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

function kindOf(type: unknown): Kind {
  if (type === 'user' || type === 'group') return type;
  const expected = 'expected "user", "group", "thread" or "message"';
  throw new LineError(type === undefined ? `type is missing: ${expected}` : `unknown type: ${expected}`);
}

function written(item: JsonObject): string {
  try {
    return JSON.stringify(item);
  } catch (error) {
    if (error instanceof JsonObjectError) throw new LineError(error.message);
    throw error;
  }
}

function memberIds(members: unknown): string[] {
  return Array.isArray(members) ? members.filter((id) => typeof id === 'string') : [];
}
