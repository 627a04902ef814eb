/** Most bytes that are written at once to somebody who may be slow. */
export const PIECE_MAX_BYTES = 16_384;

/** What is made once for all readers who are given it, and is written one piece after the other. */
export interface Text {
  readonly pieceCount: number;
  /** In bytes. */
  readonly length: number;
  /** The next reader is given it too, so that it is stored whether or not a reader is in the middle of it. */
  isCurrent: boolean;
  /** The bytes of one of the pieces: at most 16 KB, not empty. */
  piece(index: number): Buffer;
}

/** The bytes themselves, not copied. No pieces where there are no bytes. */
export function inPieces(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += PIECE_MAX_BYTES) {
    pieces.push(bytes.subarray(from, from + PIECE_MAX_BYTES));
  }
  return pieces;
}

/** A text of these pieces; `isCurrent` until it is set otherwise. */
export const textOf = (pieces: readonly Buffer[], isCurrent = false): Text => ({
  pieceCount: pieces.length,
  length: pieces.reduce((length, piece) => length + piece.length, 0),
  isCurrent,
  piece: (index) => pieces[index] as Buffer,
});
