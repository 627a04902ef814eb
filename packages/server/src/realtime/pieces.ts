/** Most bytes that are written at once to somebody who may be slow. */
const PIECE_MAX_BYTES = 16_384;

/** Bytes that are made once for all who are given them, and are written one piece after the other. */
export interface Text {
  readonly pieces: readonly Buffer[];
  /** In bytes. */
  readonly length: number;
  /** Whoever comes next is given it too, so that it is there whether or not somebody is in the middle of it. */
  isCurrent: boolean;
}

/** The bytes themselves, not copied. No pieces where there are no bytes. */
export function inPieces(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += PIECE_MAX_BYTES) {
    pieces.push(bytes.subarray(from, from + PIECE_MAX_BYTES));
  }
  return pieces;
}

/** A text of these pieces; `isCurrent` until somebody says otherwise. */
export const textOf = (pieces: readonly Buffer[], isCurrent = false): Text => ({
  pieces,
  length: pieces.reduce((length, piece) => length + piece.length, 0),
  isCurrent,
});
