/**
 * A whole store as a file of records (docs/operations.md, "The transfer format"): a header, the records, and an end that
 * counts them, so that a truncated file is noticed.
 */
import { type JsonObject, ValidationErrors, validator } from '@rollcall/protocol';
import {
  RECORD_SCHEMAS,
  RECORD_TYPES,
  TRANSFER_BATCH_ROWS,
  type TransferRecord,
} from '../../store/transfer-records.ts';
import { complaintOf } from '../records/complaint.ts';
import { type Line, readLines } from '../records/line-reader.ts';
import { type RecordFile, RecordFileError } from '../records/record-file.ts';
import { LineError, readRecordLine } from '../records/record-line.ts';

/** The type of the first line. */
export const STORE_HEADER = 'rollcall_store';
const VERSION = 1;
const END = 'end';
/** A batch ends with the line that makes it as large as this. */
const BATCH_BYTES = 1_024 * 1_024;

export async function* storeFileText(
  batches: AsyncIterable<readonly TransferRecord[]>,
): AsyncGenerator<string> {
  let records = 0;
  yield lineOf({ type: STORE_HEADER, version: VERSION });
  for await (const batch of batches) {
    records += batch.length;
    yield batch.map(lineOf).join('');
  }
  yield lineOf({ type: END, records });
}

const lineOf = (record: object) => `${JSON.stringify(record)}\n`;

/** Reads the records of a file, and knows on which line each of them is. */
export class StoreFileReader {
  readonly #file: RecordFile;
  readonly #lines = new WeakMap<TransferRecord, number>();

  constructor(file: RecordFile) {
    this.#file = file;
  }

  /** The file, and the line of the record where it has one, for messages. */
  position(record?: TransferRecord): string {
    const line = record === undefined ? undefined : this.#lines.get(record);
    return line === undefined ? this.#file.name : `${this.#file.name}:${line}`;
  }

  /** @throws RecordFileError that names the line; at the end, where the file is truncated */
  async *batches(onRead: (fraction: number) => void): AsyncGenerator<TransferRecord[]> {
    const { size } = this.#file;
    let bytesRead = 0;
    let batch: TransferRecord[] = [];
    let batchBytes = 0;
    const state: FileState = { hasHeader: false, records: 0, end: null };
    const chunks = this.#file.read((bytes) => {
      bytesRead += bytes;
      if (size !== null) onRead(bytesRead / size);
    });
    for await (const line of readLines(chunks)) {
      const record = this.#readLine(line, state);
      if (record === null) continue;
      this.#lines.set(record, line.number);
      batch.push(record);
      batchBytes += line.bytes?.byteLength ?? 0;
      if (batch.length < TRANSFER_BATCH_ROWS && batchBytes < BATCH_BYTES) continue;
      yield batch;
      batch = [];
      batchBytes = 0;
    }
    if (batch.length > 0) yield batch;
    if (state.end !== state.records)
      throw new RecordFileError(
        `${this.#file.name} is truncated: its last line is not the end of ${state.records} records`,
      );
  }

  #readLine(line: Line, state: FileState): TransferRecord | null {
    try {
      const object = readRecordLine(line);
      return object === null ? null : readRecord(object, state);
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      throw new RecordFileError(`${this.#file.name}:${line.number}: ${error.message}`, { cause: error });
    }
  }
}

/** The parts of the file that were read so far. */
interface FileState {
  hasHeader: boolean;
  records: number;
  /** How many records the last line counts. */
  end: unknown;
}

/** Null for the header and the end. @throws LineError */
function readRecord(object: JsonObject, state: FileState): TransferRecord | null {
  if (!state.hasHeader) {
    requireHeader(object);
    state.hasHeader = true;
    return null;
  }
  if (state.end !== null) throw new LineError('there is more after the end record');
  if (object.type === END) {
    state.end = object.records;
    return null;
  }
  state.records += 1;
  return toRecord(object);
}

function requireHeader({ type, version }: JsonObject): void {
  if (type !== STORE_HEADER)
    throw new LineError(
      `expected {"type":"${STORE_HEADER}","version":${VERSION}}, as "rollcall backup" writes it; "rollcall sync" reads a roster`,
    );
  if (version !== VERSION)
    throw new LineError(
      `version ${JSON.stringify(version)?.slice(0, 64)} of the format is not known here, but ${VERSION}: use the Rollcall that wrote it`,
    );
}

const VALIDATORS = new Map(RECORD_TYPES.map((type) => [type as string, validator(RECORD_SCHEMAS[type])]));

function toRecord(object: JsonObject): TransferRecord {
  const { type, ...fields } = object;
  const validate = VALIDATORS.get(String(type));
  if (validate === undefined)
    throw new LineError(
      `unknown type ${JSON.stringify(type)?.slice(0, 64)}: expected one of ${RECORD_TYPES.join(', ')}`,
    );
  const errors = new ValidationErrors();
  validate(fields, errors);
  if (!errors.clean) throw new LineError(`the ${type} record ${complaintOf(errors)}`);
  return object as unknown as TransferRecord;
}
