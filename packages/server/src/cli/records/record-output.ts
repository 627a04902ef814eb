import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import process from 'node:process';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { InterruptedError } from '../interruption.ts';

interface RecordOutput {
  /** Null is standard output. */
  readonly path: string | null;
  readonly gzip: boolean;
  /** The access rights of a new file. Default: what the account's umask leaves of 0666. */
  readonly mode?: number;
}

/** Writes text as fast as it is taken. A file has its name only when it is whole and on disk. */
export async function writeRecords(
  text: AsyncIterable<string>,
  { path, gzip, mode }: RecordOutput,
): Promise<void> {
  if (path === null) return write(text, gzip, process.stdout);
  if (!(await isReplaceable(path))) return write(text, gzip, createWriteStream(path));
  // Of this run alone: another one can write to the same path.
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    await write(text, gzip, createWriteStream(partial, { flags: 'wx', flush: true, ...(mode && { mode }) }));
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    if (!(error instanceof InterruptedError)) throw error;
    throw new InterruptedError(error.signal, `${path} was not written`);
  }
}

async function write(text: AsyncIterable<string>, gzip: boolean, target: Writable): Promise<void> {
  const stages = gzip ? [createGzip()] : [];
  // Standard output stays open for later output of the process.
  await pipeline([Readable.from(text), ...stages, target], { end: target !== process.stdout });
}

/** Not so a device, a pipe or a directory. */
async function isReplaceable(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found === null || found.isFile();
}
