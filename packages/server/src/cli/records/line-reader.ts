export interface Line {
  /** Counted from 1, blank lines included, as editors count. */
  readonly number: number;
  /** Without its line break; null where the line is longer than the bound. */
  readonly bytes: Uint8Array | null;
}

/** Longest line that is read, in bytes: well above any body limit, well below the longest string. */
export const LINE_MAX_BYTES = 256 * 1_024 * 1_024;

const LINE_FEED = 0x0a;

/** Cuts a stream into lines, one in memory at a time; the last one needs no line break. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number = LINE_MAX_BYTES,
): AsyncGenerator<Line> {
  const pending = new PendingLine(maxBytes);
  let number = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      pending.add(chunk.subarray(start, end));
      number += 1;
      yield { number, bytes: pending.take() };
      start = end + 1;
    }
    pending.add(chunk.subarray(start));
  }
  if (!pending.empty) yield { number: number + 1, bytes: pending.take() };
}

/** The part of a line that has come so far; what exceeds the bound is counted, not stored. */
class PendingLine {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get empty(): boolean {
    return this.#length === 0;
  }

  add(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  take(): Uint8Array | null {
    const [only = new Uint8Array()] = this.#parts;
    const whole = this.#parts.length <= 1 ? only : Buffer.concat(this.#parts);
    const bytes = this.#length > this.#maxBytes ? null : whole;
    this.#parts = [];
    this.#length = 0;
    return bytes;
  }
}
