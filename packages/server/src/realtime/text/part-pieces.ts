import { frameOf } from '../../wire/socket-frames.ts';
import { EncodedPieces } from './encoded-pieces.ts';
import type { TextPart } from './entry-texts.ts';
import { PIECE_MAX_BYTES, type Pieces } from './pieces.ts';
import { storedBytes } from './stored-bytes.ts';

/** One for the whole process, so that its bound is one of the process. */
const encoded = new EncodedPieces();

/** Parts that are one write. */
interface Piece {
  /** The first part, and the one after the last. */
  readonly from: number;
  to: number;
  bytes: number;
}

/** Parts that are encoded piece by piece while they are written. */
export class PartPieces implements Pieces {
  readonly #parts: readonly TextPart[];
  readonly #pieces: readonly Piece[];

  constructor(parts: readonly TextPart[]) {
    this.#parts = parts;
    this.#pieces = piecesOf(parts);
  }

  get count(): number {
    return this.#pieces.length;
  }

  piece(index: number): Buffer {
    const piece = this.#pieces[index] as Piece;
    return encoded.of(piece, () => this.#encode(piece));
  }

  #encode({ from, to }: Piece): Buffer {
    let text = '';
    for (let index = from; index < to; index += 1) text += (this.#parts[index] as TextPart).text;
    return storedBytes(text);
  }
}

/** As many parts in each piece as fit it. */
function piecesOf(parts: readonly TextPart[]): readonly Piece[] {
  let piece: Piece = { from: 0, to: 0, bytes: 0 };
  const pieces = [piece];
  for (const { bytes } of parts) {
    if (piece.bytes + bytes > PIECE_MAX_BYTES) {
      piece = { from: piece.to, to: piece.to, bytes: 0 };
      pieces.push(piece);
    }
    piece.to += 1;
    piece.bytes += bytes;
  }
  return pieces;
}

/** One message of a watch. Each piece is a fragment; with several pieces, the number of the message is a fragment too. */
export function framedPieces(head: Buffer, rest: Pieces): Pieces {
  const { count } = rest;
  return {
    count,
    piece(index) {
      const bytes = rest.piece(index);
      if (count === 1) return frameOf([head, bytes]);
      const fragment = frameOf([bytes], false, index === count - 1);
      return index === 0 ? Buffer.concat([frameOf([head], true, false), fragment]) : fragment;
    },
  };
}
