import { writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';

const STDOUT = 1;
/** How long lines wait for the reader of a full pipe: so often, and so many milliseconds each time. */
const WAITS_MAX = 200;
const WAIT_MS = 5;

/**
 * The log of this process, on standard output. A line that cannot be written is dropped: where the disk of the log is full,
 * pino's own output ends the process, and tries without end to write the last line before that. A line waits up to a second for
 * the reader of a pipe; after a dropped line the next ones do not wait until one is written.
 */
export const openLog = (level: string): Logger => pino({ level }, { write: writeLine });

/**
 * Writes the empty line before a text. @throws Error where standard output takes nothing, as on a full disk: what is printed once
 * would be lost
 */
export function requireOutput(): void {
  try {
    writeSync(STDOUT, '\n');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A full pipe, which has a reader.
    if (code === 'EAGAIN') return;
    throw new Error(`the credentials of a first start cannot be printed, so none were created: ${message}`, {
      cause: error,
    });
  }
}

let waitsLeft = WAITS_MAX;
/** Whether a line was written in part. The next one that is written begins behind a line break. */
let isCut = false;

function writeLine(line: string): void {
  let rest = Buffer.from(isCut ? `\n${line}` : line);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(STDOUT, rest));
      waitsLeft = WAITS_MAX;
      isCut = rest.length > 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waitsLeft === 0) return;
      waitsLeft -= 1;
      Atomics.wait(neverNotified, 0, 0, WAIT_MS);
    }
  }
}

const neverNotified = new Int32Array(new SharedArrayBuffer(4));
