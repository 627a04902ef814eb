import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import process from 'node:process';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A file that cannot be read, or not to its end. The message is one line for the operator and names the file. */
export class RecordFileError extends Error {}

/** The input of `sync`: a file, or `-` for standard input. */
export interface RecordFile {
  /** For messages. */
  readonly name: string;
  /** In bytes as stored, before decompression; null where it is not known. */
  readonly size: number | null;
  /** The text, decompressed where it is gzip; `onRead` is called with the number of stored bytes as they are consumed. */
  read(onRead: (bytes: number) => void): AsyncIterable<Uint8Array>;
}

/** Finds a file before anything is read, so that a mistyped second name stops the command before the first is sent. */
export async function openRecordFile(path: string): Promise<RecordFile> {
  if (path === '-') return recordFile('standard input', null, () => process.stdin);
  const found = await stat(path).catch((error: Error) => {
    throw new RecordFileError(`cannot read ${path}: ${error.message}`);
  });
  if (found.isDirectory()) throw new RecordFileError(`cannot read ${path}: it is a directory`);
  return recordFile(path, found.isFile() ? found.size : null, () => createReadStream(path));
}

function recordFile(name: string, size: number | null, open: () => Readable): RecordFile {
  return {
    name,
    size,
    async *read(onRead) {
      try {
        yield* decompressed(counted(open(), onRead));
      } catch (error) {
        throw new RecordFileError(`cannot read ${name}: ${(error as Error).message}`, { cause: error });
      }
    },
  };
}

async function* counted(chunks: AsyncIterable<Uint8Array>, onRead: (bytes: number) => void) {
  for await (const chunk of chunks) {
    onRead(chunk.length);
    yield chunk;
  }
}

/** The stream itself, or its decompressed content where its first two bytes are those of gzip (RFC 1952, 2.3.1). */
async function* decompressed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  const head = await firstBytes(source, 2);
  const whole = rejoined(head, source);
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* whole;
  const gunzip = createGunzip();
  // A failure of the source destroys the stream with it, and so reaches the loop that reads it.
  pipeline(Readable.from(whole), gunzip, () => {});
  yield* gunzip as AsyncIterable<Uint8Array>;
}

/** Reads chunks until there are at least `count` bytes, or none any more: a pipe may bring them one by one. */
async function firstBytes(source: AsyncIterator<Uint8Array>, count: number): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array();
  while (head.length < count) {
    const { done, value } = await source.next();
    if (done === true) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  return head;
}

async function* rejoined(head: Uint8Array, source: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* { [Symbol.asyncIterator]: () => source };
}
