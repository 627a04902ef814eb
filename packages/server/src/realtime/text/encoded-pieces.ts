/** How many bytes are stored, for all snapshots of the process. */
const BYTES_MAX = 8_388_608;
/** How many pieces are stored. Each takes up to 1 KB besides its bytes, and most snapshots are smaller than that. */
const PIECES_MAX = 8_192;

/** The last written pieces as bytes: a snapshot for many readers is encoded once. */
export class EncodedPieces {
  /** The least recently used piece comes first. */
  readonly #pieces = new Map<object, Buffer>();
  #bytes = 0;

  /** The piece as bytes; `encode` is called when it is not stored. */
  of(piece: object, encode: () => Buffer): Buffer {
    const known = this.#pieces.get(piece);
    const bytes = known ?? encode();
    if (known === undefined) this.#bytes += bytes.length;
    else this.#pieces.delete(piece);
    this.#pieces.set(piece, bytes);
    this.#trim();
    return bytes;
  }

  #trim(): void {
    for (const [oldest, { length }] of this.#pieces) {
      if (this.#bytes <= BYTES_MAX && this.#pieces.size <= PIECES_MAX) return;
      this.#pieces.delete(oldest);
      this.#bytes -= length;
    }
  }
}
