import type { BodyMemory } from './body-memory.ts';

/**
 * A chunk of at least this size is stored as it is. Smaller ones are copied together, in pieces of this size: a chunk of
 * one byte takes some 300 bytes as an object of its own.
 */
const PIECE_BYTES = 4_096;

/**
 * The bytes of one request body, accounted for in the process's {@link BodyMemory} from their arrival until `release`.
 * Beyond the account it takes one unfinished piece of 4 KiB, and less than a tenth for the objects around the bytes.
 */
export class ReceivedBody {
  readonly #memory: BodyMemory;
  readonly #isAnonymous: boolean;
  #parts: Uint8Array[] = [];
  /** The piece that small chunks are copied to, and how much of it is filled. */
  #piece: Buffer | null = null;
  #filled = 0;
  #length = 0;

  /** @param isAnonymous its request has no token */
  constructor(memory: BodyMemory, isAnonymous = false) {
    this.#memory = memory;
    this.#isAnonymous = isAnonymous;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a chunk, which the body owns from then on. False when there is no memory for it: then all of the body is released. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (!this.#memory.grow(this.#length, length, this.#isAnonymous)) {
      this.release();
      return false;
    }
    this.#length = length;
    // Most bodies are a single chunk.
    if (chunk.length >= PIECE_BYTES || length === chunk.length) {
      this.#endPiece();
      this.#parts.push(chunk);
    } else this.#copy(chunk);
    return true;
  }

  /** The parts of the body, in order. They leave the body, whose bytes stay accounted for. */
  takeParts(): Uint8Array[] {
    this.#endPiece();
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  bytes(): Uint8Array {
    this.#endPiece();
    const [first] = this.#parts;
    if (this.#parts.length === 1 && first !== undefined) return first;
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [bytes];
    return bytes;
  }

  /** Gives the memory back: the request has been answered, or never will be. Idempotent. */
  release(): void {
    this.#memory.release(this.#length, this.#isAnonymous);
    this.#length = 0;
    this.#parts = [];
    this.#piece = null;
    this.#filled = 0;
  }

  #copy(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length; ) {
      this.#piece ??= Buffer.allocUnsafeSlow(PIECE_BYTES);
      const copied = chunk.subarray(from, from + PIECE_BYTES - this.#filled);
      this.#piece.set(copied, this.#filled);
      this.#filled += copied.length;
      from += copied.length;
      if (this.#filled === PIECE_BYTES) this.#endPiece();
    }
  }

  #endPiece(): void {
    if (this.#piece === null || this.#filled === 0) return;
    if (this.#filled === PIECE_BYTES) {
      this.#parts.push(this.#piece);
      this.#piece = null;
    } else this.#parts.push(new Uint8Array(this.#piece.subarray(0, this.#filled)));
    this.#filled = 0;
  }
}
