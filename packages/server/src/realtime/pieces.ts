/**
 * Most bytes that are written at once to somebody who may be slow. A reader shows that it lives by taking a piece from one
 * heartbeat to the next, so this is also how slow one may be: about a kilobyte a second.
 */
const PIECE_MAX_BYTES = 16_384;

/** The same bytes, not copied, in pieces that are written one by one. None where there are no bytes. */
export function inPieces(bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += PIECE_MAX_BYTES) {
    pieces.push(bytes.subarray(from, from + PIECE_MAX_BYTES));
  }
  return pieces;
}
