import { randomUUID } from 'node:crypto';
import { createWriteStream, fstatSync } from 'node:fs';
import { chmod, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMessage } from 'node:util';
import { createGzip } from 'node:zlib';
import { InterruptedError } from '../interruption.ts';

interface RecordOutput {
  /** Null is standard output. */
  readonly path: string | null;
  readonly gzip: boolean;
  /** The file's mode. Default: that of the one that it replaces, or what the account's umask leaves of 0666. */
  readonly mode?: number;
}

/**
 * Writes text as fast as it is taken. A file has its name only when it is whole and on disk; symbolic links to it stay. A
 * device or a pipe is written as it is.
 * @throws Error in one line that names the file, where that cannot be written; or what reading the text throws
 */
export async function writeRecords(text: AsyncIterable<string>, output: RecordOutput): Promise<void> {
  const { path, gzip } = output;
  if (path === null || (await isStandardOutput(path))) return write(text, gzip, process.stdout);
  const source = new TextSource(text);
  try {
    if (await isReplaceable(path)) await replaceFile(source, path, output);
    else await write(source, gzip, createWriteStream(path));
  } catch (error) {
    if (error === source.error || error instanceof InterruptedError) throw error;
    const { errno, message } = error as NodeJS.ErrnoException;
    const reason = errno === undefined ? message : getSystemErrorMessage(errno);
    throw new Error(`cannot write ${path}: ${reason}`, { cause: error });
  }
}

/** A text that remembers with which error reading it failed: an error of writing is another one. */
class TextSource implements AsyncIterable<string> {
  error: unknown;
  readonly #text: AsyncIterable<string>;

  constructor(text: AsyncIterable<string>) {
    this.#text = text;
  }

  /** What fails to write the text throws its error into this generator too. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    const iterator = this.#text[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await iterator.next().catch((error) => {
          this.error = error;
          throw error;
        });
        if (done === true) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
}

async function replaceFile(
  text: AsyncIterable<string>,
  path: string,
  { gzip, mode }: RecordOutput,
): Promise<void> {
  const file = await linkedFile(path);
  const replaced = mode === undefined ? await modeOf(file) : null;
  const permissions = mode ?? replaced;
  // Of this run alone: another one can write to the same path.
  const partial = `${file}.${randomUUID()}.partial`;
  try {
    const options = { flags: 'wx', flush: true, ...(permissions !== null && { mode: permissions }) };
    await write(text, gzip, createWriteStream(partial, options));
    // The umask took some of it away when the file was created. Some file systems have one mode for all files, and no chmod.
    if (replaced !== null && (await modeOf(partial)) !== replaced) await chmod(partial, replaced);
    await rename(partial, file);
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

/** So is /dev/stdout. Opened anew, a file would lose what it has, and a socket cannot be opened. */
async function isStandardOutput(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null) return false;
  const { dev, ino } = fstatSync(process.stdout.fd);
  return found.dev === dev && found.ino === ino;
}

/** The file that symbolic links lead to; it need not be there. */
async function linkedFile(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const target = await readlink(path).catch(() => null);
    return target === null ? path : linkedFile(resolve(await realpath(dirname(path)), target));
  }
}

/** The mode of a file; null where there is none. */
async function modeOf(file: string): Promise<number | null> {
  const found = await stat(file).catch(() => null);
  return found === null ? null : found.mode & 0o777;
}
