import { storedConcat } from './stored-bytes.ts';

/** Most bytes of one write to a reader who may be slow. */
export const PIECE_MAX_BYTES = 16_384;

/** A text as one transport writes it, one piece after the other. */
export interface Pieces {
  readonly count: number;
  /** The bytes of one of the pieces: at most 16 KB and the headers of a transport, not empty. */
  piece(index: number): Buffer;
}

/** Events that are written once for all of their readers. */
export interface Text {
  /** In bytes, about. */
  readonly length: number;
  /** About how many pieces it has. */
  readonly writes: number;
  /** The next reader gets it too, so it is stored whether or not a reader is in the middle of it. */
  isCurrent: boolean;
  /** As server-sent events. */
  readonly sse: Pieces;
  /** As frames of a socket. `watch` is the JSON of the number that the reader chose; readers with the same share the bytes. */
  frames(watch: string): Pieces;
}

/** Bytes in pieces; they are not copied. */
export function slicedPieces(bytes: Buffer): Pieces {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += PIECE_MAX_BYTES) {
    pieces.push(bytes.subarray(from, from + PIECE_MAX_BYTES));
  }
  return { count: pieces.length, piece: (index) => pieces[index] as Buffer };
}

/** Copies of parts that no piece divides, as many in each piece as fit it. */
export function groupedPieces(parts: readonly Buffer[]): Pieces {
  const pieces: Buffer[] = [];
  let group: Buffer[] = [];
  let bytes = 0;
  for (const part of parts) {
    if (bytes > 0 && bytes + part.length > PIECE_MAX_BYTES) {
      pieces.push(storedConcat(group));
      group = [];
      bytes = 0;
    }
    group.push(part);
    bytes += part.length;
  }
  if (bytes > 0) pieces.push(storedConcat(group));
  return { count: pieces.length, piece: (index) => pieces[index] as Buffer };
}
