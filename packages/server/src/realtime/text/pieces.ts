/** Most bytes of one write to a reader who may be slow. */
export const PIECE_MAX_BYTES = 16_384;

/** A text that is made once for all of its readers, and written one piece after the other. */
export interface Text {
  readonly pieceCount: number;
  /** In bytes. */
  readonly length: number;
  /** The next reader gets it too, so it is stored whether or not a reader is in the middle of it. */
  isCurrent: boolean;
  /** The bytes of one of the pieces: at most 16 KB, not empty. */
  piece(index: number): Buffer;
}

/** A text of these bytes, which are not copied; `isCurrent` until it is set otherwise. No bytes are no pieces. */
export function textOf(bytes: Buffer, isCurrent = false): Text {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += PIECE_MAX_BYTES) {
    pieces.push(bytes.subarray(from, from + PIECE_MAX_BYTES));
  }
  const piece = (index: number) => pieces[index] as Buffer;
  return { pieceCount: pieces.length, length: bytes.length, isCurrent, piece };
}
