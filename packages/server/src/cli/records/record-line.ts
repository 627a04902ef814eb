import { isJsonObject, type JsonObject, limits, parseJsonExactly, structureError } from '@rollcall/protocol';
import { LINE_MAX_BYTES, type Line } from './line-reader.ts';

/** A line that cannot be read as a record. The message has the reason. */
export class LineError extends Error {}

export interface LineOrigin {
  readonly file: string;
  readonly line: number;
}

/** The line is sent two levels within the body of a batch. */
const LINE_MAX_DEPTH = limits.JSON_MAX_DEPTH - 2;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON object that a line is; null where the line is blank. @throws LineError */
export function readRecordLine({ bytes }: Line): JsonObject | null {
  if (bytes === null) throw new LineError(`the line is longer than ${LINE_MAX_BYTES} bytes`);
  const error = structureError(bytes, LINE_MAX_DEPTH);
  if (error !== null) throw new LineError(`the line ${error}`);
  const text = reading(() => utf8.decode(bytes), 'the line is not valid UTF-8');
  if (text.trim() === '') return null;
  const value = reading(() => parseJsonExactly(text), 'the line is not valid JSON');
  if (!isJsonObject(value)) throw new LineError('the line is not a JSON object');
  return value;
}

function reading<Value>(read: () => Value, complaint: string): Value {
  try {
    return read();
  } catch (error) {
    throw new LineError(complaint, { cause: error });
  }
}
